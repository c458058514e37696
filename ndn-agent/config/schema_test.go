package config

import (
	"testing"

	"ncp-testbed/schemas"
)

func TestTheSchemaHasWhatIsRead(t *testing.T) { schemas.CheckPlan(t, "", document{}) }

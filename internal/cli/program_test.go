package cli

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestEachEndHasItsCode(t *testing.T) {
	why := errors.New("why")
	if codes := [3]int{Failed(why), BadInput(why), Unsupported(why)}; codes != [3]int{1, 2, 4} {
		t.Errorf("%v, want those of the command line: 1, 2 and 4", codes)
	}
}

func TestASignalEndsTheContext(t *testing.T) {
	for _, asked := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		ctx, stop := UntilSignal()
		if err := syscall.Kill(os.Getpid(), asked); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		stop()
	}
}

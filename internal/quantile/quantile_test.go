package quantile

import "testing"

func TestOf(t *testing.T) {
	var hundred []int
	for i := range 100 {
		hundred = append(hundred, i+1)
	}
	for _, c := range []struct {
		values []int
		q      float64
		want   int
	}{
		{hundred, 0.5, 50}, {hundred, 0.95, 95}, {hundred, 0.99, 99}, {hundred, 0.991, 100}, {hundred, 1, 100}, {hundred, 0, 1},
		{hundred[:3], 0.5, 2}, {hundred[:4], 0.5, 2}, {hundred[:1], 0.99, 1}, {nil, 0.5, 0},
	} {
		if got := Of(c.values, c.q); got != c.want {
			t.Errorf("%v of %d values: %d, want %d", c.q, len(c.values), got, c.want)
		}
	}
}

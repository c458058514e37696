// Package quantile works out quantiles of samples.
package quantile

// Of returns the smallest of the ascending values that the share q of them
// does not exceed (nearest rank), or 0 without any.
func Of[T any](ascending []T, q float64) (value T) {
	if len(ascending) == 0 {
		return value
	}
	rank := int(q*float64(len(ascending)) + 0.999999) // 0.95 of 100 may be more than 95
	return ascending[max(0, min(rank, len(ascending))-1)]
}

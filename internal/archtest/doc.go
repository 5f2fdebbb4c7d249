// Package archtest holds no code of the product. Its tests keep the architecture: which package may import which,
// what the pure packages may not touch, that every numbered invariant has its places, and that the repository speaks
// of nothing but itself. Each check has a control, a test that plants the fault and must see it found.
package archtest

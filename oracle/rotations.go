package oracle

// rotations compares both sets of rotation frequencies, which must be the same bits.
func rotations(v *vectors, rep *Report) error {
	main, compress := v.cfg.Frequencies()
	for name, got := range map[string][]float32{"rope.main.inv_freq": main, "rope.compress.inv_freq": compress} {
		want, err := v.f64(name)
		if err != nil {
			return err
		}
		wrong := max(len(want)-len(got), 0)
		for i, f := range got {
			if i >= len(want) || float64(f) != want[i] {
				wrong++
			}
		}
		rep.mustEqual("rotation frequencies", wrong, name)
	}
	return nil
}

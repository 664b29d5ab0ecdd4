package loss

import (
	"math"
	"strings"
	"testing"
)

func TestValidateCorrections(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		spoil func(c *Config)
		want  string // "" is no complaint
	}{
		{func(c *Config) { c.IS = "cis" }, `--is-correction is "cis", want one of: auto none tis icepop mis`},
		{func(c *Config) { c.IS, c.UseTIS = "none", false }, ""},
		{func(c *Config) { c.IS = "none" }, ""},
		{func(c *Config) { c.IS = "icepop" }, ""},
		{func(c *Config) { c.IS, c.UseTIS = "tis", false }, "--is-correction tis contradicts --no-use-tis: want --use-tis with it, or --is-correction none"},
		{func(c *Config) { c.IS, c.UseTIS = "mis", false }, "--is-correction mis contradicts --no-use-tis"},
		{func(c *Config) { c.UseTIS, c.TISClip = false, 0.5 }, ""},
		{func(c *Config) { c.IS, c.TISClip = "icepop", 0.5 }, "--is-correction icepop masks what is outside --tis-clip-low 0 and --tis-clip 0.5, want 1"},
		{func(c *Config) { c.IS, c.TISLow = "icepop", 1.5 }, "want 1, the ratio on policy, between them"},
		{func(c *Config) { c.UseRollout = true }, "--use-rollout-logprobs contradicts correction tis: there is nothing left to correct, want --is-correction none with it"},
		{func(c *Config) { c.UseRollout, c.IS = true, "mis" }, "--use-rollout-logprobs contradicts correction mis"},
		{func(c *Config) { c.UseRollout, c.UseTIS = true, false }, ""},
		{func(c *Config) { c.UseRollout, c.IS = true, "none" }, ""},
		{func(c *Config) { c.OPSMDelta = -1 }, "--opsm-delta is -1, want 0 or more"},
		{func(c *Config) { c.OPSMDelta = nan }, "--opsm-delta is NaN"},
		{func(c *Config) { c.MIS.Level = "word" }, `--tis-level is "word", want one of: token sequence geometric`},
		{func(c *Config) { c.MIS.RSLevel = "" }, `--rs-level is "", want one of: token sequence geometric`},
		{func(c *Config) { c.MIS.Mode = "cap" }, `--tis-mode is "cap", want one of: truncate clip mask`},
		{func(c *Config) { c.MIS.Upper = 0.9 }, "--tis-upper-bound is 0.9, want 1 or more"},
		{func(c *Config) { c.MIS.Upper = inf }, "--tis-upper-bound is +Inf"},
		{func(c *Config) { c.MIS.Upper = nan }, "--tis-upper-bound is NaN"},
		{func(c *Config) { c.MIS.Lower = At(1.5) }, "--tis-lower-bound is 1.5, want from 0 to 1"},
		{func(c *Config) { c.MIS.Lower = At(nan) }, "--tis-lower-bound is NaN"},
		{func(c *Config) { c.MIS.Lower = At(0) }, ""},
		{func(c *Config) { c.MIS.RSUpper = At(0.5) }, "--rs-upper-bound is 0.5, want 1 or more"},
		{func(c *Config) { c.MIS.RSLower = At(-1) }, "--rs-lower-bound is -1, want from 0 to 1"},
		{func(c *Config) { c.MIS.Veto = 1 }, "--rs-veto-threshold is 1, want 0 (off) or less than 1"},
		{func(c *Config) { c.MIS.Veto = nan }, "--rs-veto-threshold is NaN"},
	} {
		c := Default()
		tt.spoil(&c)
		err := c.Validate()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("a complaint where there is no fault: %v", err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("got %v, want an error with %q", err, tt.want)
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("one fault makes several complaints:\n%v", err)
		}
	}
}

func TestIdleCorrections(t *testing.T) {
	for _, tt := range []struct {
		set  func(c *Config)
		flag string
		want string // "" is at work
	}{
		{func(c *Config) {}, "tis-clip", ""},
		{func(c *Config) {}, "use-tis", ""},
		{func(c *Config) {}, "is-correction", ""},
		{func(c *Config) {}, "tis-level", "the correction is tis: --is-correction is auto"},
		{func(c *Config) { c.IS = "tis" }, "tis-mode", "--is-correction is tis"},
		{func(c *Config) { c.IS = "tis" }, "use-tis", "--is-correction is tis"},
		{func(c *Config) { c.UseTIS = false }, "tis-clip-low", "--use-tis is off"},
		{func(c *Config) { c.UseTIS = false }, "use-rs", "--use-tis is off"},
		{func(c *Config) { c.IS = "none" }, "tis-clip", "--is-correction is none"},
		{func(c *Config) { c.IS = "none" }, "use-tis", "--is-correction is none"},
		{func(c *Config) { c.IS = "icepop" }, "tis-clip", ""},
		{func(c *Config) { c.IS = "icepop" }, "rs-level", "--is-correction is icepop"},
		{func(c *Config) { c.IS = "mis" }, "tis-clip", "--is-correction is mis"},
		{func(c *Config) { c.IS = "mis" }, "tis-level", ""},
		{func(c *Config) { c.IS = "mis" }, "get-mismatch-metrics", "--is-correction mis logs them anyway"},
		{func(c *Config) { c.Measure = true }, "tis-level", ""},
		{func(c *Config) { c.Measure = true }, "get-mismatch-metrics", ""},
		{func(c *Config) { c.IS = "mis"; c.MIS.Reject = false }, "rs-level", "--use-rs is off"},
		{func(c *Config) { c.IS = "mis"; c.MIS.Reject = false }, "rs-veto-threshold", "--use-rs is off"},
		{func(c *Config) { c.IS = "mis"; c.MIS.Reject = false }, "tis-lower-bound", "--tis-mode truncate has no lower bound and --use-rs is off"},
		{func(c *Config) { c.IS = "mis" }, "tis-lower-bound", ""},
		{func(c *Config) { c.IS, c.MIS.RSLower = "mis", At(0.5) }, "tis-lower-bound", "--tis-mode truncate has no lower bound and --rs-lower-bound is given"},
		{func(c *Config) { c.IS, c.MIS.Mode, c.MIS.RSLower = "mis", clip, At(0.5) }, "tis-lower-bound", ""},
		{func(c *Config) {}, "opsm-delta", "--use-opsm is not given"},
		{func(c *Config) { c.UseOPSM = true }, "opsm-delta", ""},
		{func(c *Config) { c.Type, c.IS = "sft_loss", "mis" }, "tis-level", "--loss-type is sft_loss"},
		{func(c *Config) { c.Type = "sft_loss" }, "use-rollout-logprobs", "--loss-type is sft_loss"},
		{func(c *Config) { c.Type = "sft_loss" }, "use-opsm", "--loss-type is sft_loss"},
	} {
		c := Default()
		tt.set(&c)
		if got := c.Idle()[tt.flag]; got != tt.want {
			t.Errorf("%+v: --%s is idle for %q, want %q", c, tt.flag, got, tt.want)
		}
	}
}

func TestMethod(t *testing.T) {
	for _, tt := range []struct {
		is            string
		use           bool
		want, rollout string
		batch         bool
	}{
		{"auto", true, "tis", "--use-tis", false},
		{"auto", false, "none", "", false},
		{"tis", true, "tis", "--use-tis", false},
		{"none", true, "none", "", false},
		{"none", false, "none", "", false},
		{"icepop", true, "icepop", "--is-correction icepop", false},
		{"mis", true, "mis", "--is-correction mis", true},
	} {
		c := Default()
		c.IS, c.UseTIS = tt.is, tt.use
		if c.Method() != tt.want || c.NeedsRollout() != tt.rollout || c.NeedsBatch() != tt.batch {
			t.Errorf("--is-correction %s, --use-tis %v: %s, rollout logprobs for %q, whole batch %v, want %s, %q, %v",
				tt.is, tt.use, c.Method(), c.NeedsRollout(), c.NeedsBatch(), tt.want, tt.rollout, tt.batch)
		}
		c.Type = "sft_loss"
		if c.Method() != "none" || c.NeedsRollout() != "" || c.NeedsBatch() {
			t.Errorf("sft_loss: %s, rollout logprobs for %q, whole batch %v, want none of it", c.Method(), c.NeedsRollout(), c.NeedsBatch())
		}
	}
	for flag, set := range map[string]func(c *Config){
		"--use-rollout-logprobs": func(c *Config) { c.UseRollout = true }, "--get-mismatch-metrics": func(c *Config) { c.Measure = true },
	} {
		c := plain()
		set(&c)
		if got := c.NeedsRollout(); got != flag {
			t.Errorf("rollout logprobs are needed for %q, want %s", got, flag)
		}
	}
}

func FuzzBound(f *testing.F) {
	for _, s := range []string{"auto", "0.5", "1e-4", "NaN", "", "AUTO", "0x1p-2", "-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b, back Bound
		if b.UnmarshalText([]byte(text)) != nil {
			return
		}
		again, err := b.MarshalText()
		if err != nil || back.UnmarshalText(again) != nil {
			t.Fatalf("%q is read as %v and written as %q, which is not read: %v", text, b, again, err)
		}
		if back.Given != b.Given || math.Float64bits(back.Value) != math.Float64bits(b.Value) && b.Value == b.Value {
			t.Errorf("%q is read as %v and, from %q, as %v", text, b, again, back)
		}
		if b.Given != (text != "auto") {
			t.Errorf("%q is given: %v", text, b.Given)
		}
	})
}

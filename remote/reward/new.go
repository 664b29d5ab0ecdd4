package reward

import (
	"strings"

	"furlong/reward"
	"furlong/rl"
)

// New returns those who judge outside, by the names under which --rm-type and prompts ask for them.
func New(o reward.Outside) (map[string]rl.Rewarder, error) {
	all := map[string]rl.Rewarder{}
	if o.URL != "" {
		s, err := NewServer(o.URL, o.KeyFile, o.RewardKey)
		if err != nil {
			return nil, err
		}
		all[reward.RemoteName] = s
	}
	if strings.TrimSpace(o.Command) != "" {
		p, err := NewProgram(o.Command, o.RewardKey)
		if err != nil {
			return nil, err
		}
		all[reward.CommandName] = p
	}
	return all, nil
}

package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

type turnKind uint8

const (
	systemTurn turnKind = iota
	userTurn
	reminderTurn
	assistantTurn
)

// A turn is what stands under one mark: a message, or several of the user's and of tools.
type turn struct {
	kind      turnKind
	first     int // the message it begins with
	text      string
	reasoning string
	calls     []Call
}

// lastUser returns the place of the last question, -1 if there is none.
func lastUser(turns []turn) int {
	last := -1
	for i, t := range turns {
		if t.kind == userTurn {
			last = i
		}
	}
	return last
}

// turnsOf joins messages of the user and of tools that follow each other.
func turnsOf(messages []Message) (turns []turn, err error) {
	var calls []Call // of the assistant's last turn
	for i := 0; i < len(messages); {
		m, n := messages[i], 1
		t := turn{first: i, text: m.Content}
		switch m.Role {
		case "system":
			t.kind = systemTurn
		case "developer":
			t.kind = userTurn
		case "latest_reminder":
			t.kind = reminderTurn
		case "assistant":
			t.kind, t.reasoning, t.calls, calls = assistantTurn, m.Reasoning, m.Calls, m.Calls
		case "user", "tool":
			t.kind, n = userTurn, together(messages[i:])
			t.text, err = joined(messages[i:i+n], i, calls)
			calls = nil
		default:
			err = fmt.Errorf("message %d: role is %q, want system, developer, user, assistant, tool or latest_reminder", i, m.Role)
		}
		if err == nil {
			err = m.check(i)
		}
		if err != nil {
			return nil, err
		}
		turns = append(turns, t)
		i += n
	}
	return turns, nil
}

// check refuses fields that only other roles have.
func (m *Message) check(i int) error {
	switch {
	case m.Role != "assistant" && (m.Reasoning != "" || len(m.Calls) > 0):
		return fmt.Errorf("message %d: role is %q with reasoning or tool calls, which only the assistant's have", i, m.Role)
	case m.Role != "tool" && m.CallID != "":
		return fmt.Errorf("message %d: role is %q with tool_call_id, which only a tool's has", i, m.Role)
	}
	return nil
}

// together counts the messages of the user and of tools at the beginning.
func together(messages []Message) int {
	n := 0
	for n < len(messages) && (messages[n].Role == "user" || messages[n].Role == "tool") {
		n++
	}
	return n
}

// joined returns the text of messages under one mark, the first of which is the given one of the conversation. What
// tools gave stands in the order of the calls.
func joined(messages []Message, first int, calls []Call) (string, error) {
	parts := make([]string, len(messages))
	var places []int // of results
	var results []result
	done := make([]bool, len(calls))
	for i, m := range messages {
		if err := m.check(first + i); err != nil {
			return "", err
		}
		if m.Role == "user" {
			parts[i] = m.Content
			continue
		}
		at, err := answered(m.CallID, calls, done)
		if err != nil {
			return "", fmt.Errorf("message %d: %w", first+i, err)
		}
		done[at] = true
		places = append(places, i)
		results = append(results, result{at, "<tool_result>" + m.Content + "</tool_result>"})
	}
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(a.call, b.call) })
	for i, place := range places {
		parts[place] = results[i].text
	}
	return strings.Join(parts, "\n\n"), nil
}

type result struct {
	call int
	text string
}

// answered returns which call a result belongs to.
func answered(id string, calls []Call, done []bool) (int, error) {
	for i, c := range calls {
		if done[i] || id != "" && c.ID != id {
			continue
		}
		return i, nil
	}
	if id == "" {
		return 0, fmt.Errorf("a tool's result without tool_call_id, but all %d calls before it are answered", len(calls))
	}
	return 0, fmt.Errorf("tool_call_id is %q, want an unanswered one of the %d calls before it", id, len(calls))
}

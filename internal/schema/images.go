package schema

// Images is the schema of rows that show other rows at different times: a column of text, and for each name a struct of all columns
// of m, null where there is no such row. Without columns there are no structs.
func Images(text string, names []string, m *Message) (*Message, error) {
	n, err := targetNode(text, Text(text).Type, nil)
	if err != nil {
		return nil, err
	}
	fields := []*Node{n}
	for _, name := range names {
		if len(m.Fields) == 0 {
			continue
		}
		image := &Node{Name: name, Repetition: Optional, Shape: StructShape}
		for _, f := range m.Fields {
			image.Children = append(image.Children, f.copied())
		}
		fields = append(fields, image)
	}
	return newMessage(fields)
}

// copied is the node with all below it, for another place in another schema.
func (n *Node) copied() *Node {
	out := *n
	out.Children = nil
	for _, c := range n.Children {
		out.Children = append(out.Children, c.copied())
	}
	return &out
}

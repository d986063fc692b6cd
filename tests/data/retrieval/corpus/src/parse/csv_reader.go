// Package parse reads tables from text.
package parse

// ReadRecord splits one line into fields. A quote inside a quoted field is written twice.
func ReadRecord(line string, comma rune) ([]string, error) {
	var fields []string
	inQuotes := false
	field := make([]rune, 0, len(line))
	for _, sign := range line {
		switch {
		case sign == '"':
			inQuotes = !inQuotes
		case sign == comma && !inQuotes:
			fields = append(fields, string(field))
			field = field[:0]
		default:
			field = append(field, sign)
		}
	}
	return append(fields, string(field)), nil
}

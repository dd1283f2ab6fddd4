package clickhouse

import (
	"errors"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"
)

// Class says what to do about an error.
type Class uint8

// Classes of errors.
const (
	// Retryable errors may pass by themselves: the server is away, starts, lacks space, lost its coordination.
	Retryable Class = iota
	// Overloaded errors pass when less is asked of the server: too many parts, queries or connections, no memory.
	Overloaded
	// Permanent errors come again for the same data: a value can't be parsed, a type or column doesn't fit.
	Permanent
)

func (c Class) String() string {
	switch c {
	case Overloaded:
		return "overloaded"
	case Permanent:
		return "permanent"
	}
	return "retryable"
}

// Codes of ClickHouse's src/Common/ErrorCodes.cpp that aren't simply retried. What an administrator can mend while the
// sender waits (a missing table, column or privilege, a wrong password) is retried: the data itself is sound, and
// dropping it would lose what was acknowledged.
var classes = map[int32]Class{
	// The statement or its data make no sense to this server, and never will.
	6:   Permanent, // CANNOT_PARSE_TEXT
	26:  Permanent, // CANNOT_PARSE_QUOTED_STRING
	27:  Permanent, // CANNOT_PARSE_INPUT_ASSERTION_FAILED
	38:  Permanent, // CANNOT_PARSE_DATE
	41:  Permanent, // CANNOT_PARSE_DATETIME
	53:  Permanent, // TYPE_MISMATCH
	62:  Permanent, // SYNTAX_ERROR
	69:  Permanent, // ARGUMENT_OUT_OF_BOUND
	70:  Permanent, // CANNOT_CONVERT_TYPE
	72:  Permanent, // CANNOT_PARSE_NUMBER
	117: Permanent, // INCORRECT_DATA
	131: Permanent, // TOO_LARGE_STRING_SIZE
	321: Permanent, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
	349: Permanent, // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
	469: Permanent, // VIOLATED_CONSTRAINT
	636: Permanent, // CANNOT_EXTRACT_TABLE_STRUCTURE

	159: Overloaded, // TIMEOUT_EXCEEDED
	160: Overloaded, // TOO_SLOW
	164: Retryable,  // READONLY
	201: Overloaded, // QUOTA_EXCEEDED
	202: Overloaded, // TOO_MANY_SIMULTANEOUS_QUERIES
	203: Overloaded, // NO_FREE_CONNECTION
	241: Overloaded, // MEMORY_LIMIT_EXCEEDED
	242: Retryable,  // TABLE_IS_READ_ONLY
	243: Retryable,  // NOT_ENOUGH_SPACE
	252: Overloaded, // TOO_MANY_PARTS
	307: Overloaded, // TOO_MANY_BYTES
	439: Overloaded, // CANNOT_SCHEDULE_TASK
	700: Overloaded, // USER_SESSION_LIMIT_EXCEEDED
	745: Overloaded, // SERVER_OVERLOADED
}

// Classify maps an error of clickhouse-go or ch-go. An error that the server did not send, such as a broken
// connection, is Retryable: the data was not refused. Call it only with an error.
func Classify(err error) Class {
	if code, ok := Code(err); ok {
		return classes[code]
	}
	if errors.Is(err, clickhouse.ErrAcquireConnTimeout) {
		return Overloaded
	}
	return Retryable
}

// Code returns the server's exception code.
func Code(err error) (code int32, ok bool) {
	var native *clickhouse.Exception
	if errors.As(err, &native) {
		return native.Code, true
	}
	var columnar *ch.Exception
	if errors.As(err, &columnar) {
		return int32(columnar.Code), true //nolint:gosec // codes are small
	}
	return 0, false
}

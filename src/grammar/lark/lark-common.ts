const digits = '[0-9]+'
const sign = '[+-]?'
const exponent = `[eE]${sign}${digits}`
const decimal = `(?:${digits}\\.[0-9]*|\\.${digits})`
const float = `(?:${digits}${exponent}|${decimal}(?:${exponent})?)`
const number = `(?:${float}|${digits})`

/** The terminals of Lark's module `common`, as patterns. */
export const commonTerminals: ReadonlyMap<string, string> = new Map([
  ['DIGIT', '[0-9]'],
  ['HEXDIGIT', '[0-9A-Fa-f]'],
  ['INT', digits],
  ['SIGNED_INT', sign + digits],
  ['DECIMAL', decimal],
  ['FLOAT', float],
  ['SIGNED_FLOAT', sign + float],
  ['NUMBER', number],
  ['SIGNED_NUMBER', sign + number],
  ['ESCAPED_STRING', '"(?:[^"\\\\\\n]|\\\\[^\\n])*"'],
  ['LCASE_LETTER', '[a-z]'],
  ['UCASE_LETTER', '[A-Z]'],
  ['LETTER', '[A-Za-z]'],
  ['WORD', '[A-Za-z]+'],
  ['CNAME', '[A-Za-z_][A-Za-z0-9_]*'],
  ['WS_INLINE', '[ \\t]+'],
  ['WS', '[ \\t\\f\\r\\n]+'],
  ['CR', '\\r'],
  ['LF', '\\n'],
  ['NEWLINE', '(?:\\r?\\n)+'],
  ['SH_COMMENT', '#[^\\n]*'],
  ['CPP_COMMENT', '\\/\\/[^\\n]*'],
  ['C_COMMENT', '\\/\\*(?:[^*]|\\*+[^*\\/])*\\*+\\/'],
  ['SQL_COMMENT', '--[^\\n]*'],
])

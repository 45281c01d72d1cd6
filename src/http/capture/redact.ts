const hidden = '***'

/** Headers and fields whose values are secrets, also as parts of longer names. */
const secretHeader = /authorization|cookie|api-?key|admin-?key|token|secret|password|provider-data/i
const secretField =
  /^(authorization(_token)?|(hf_|access_|refresh_|auth_|bearer_)?token|api_?key|x-.*key|client_secret|secret|password)$/i
const secretParameter = /^(key|token|api_?key|access_token|secret|password)$/i

/** Headers without secrets: their names stay. */
export function redactHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      if (value === undefined) return []
      return [[name, secretHeader.test(name) ? hidden : withoutPasswords(String(value))]]
    }),
  )
}

/** A URL without secrets in its query. */
export function redactUrl(url: string): string {
  return url.replace(/([?&])([^=&]*)=[^&]*/g, (parameter, before: string, name: string) =>
    secretParameter.test(name) ? `${before}${name}=${hidden}` : parameter,
  )
}

/** A body without secrets: values of fields that hold them, and passwords in URLs. */
export function redactBody(value: unknown): unknown {
  if (typeof value === 'string') return withoutPasswords(value)
  if (Array.isArray(value)) return value.map(redactBody)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      // Those of an MCP server.
      if (name === 'headers' && typeof one === 'object' && one !== null) return [name, redactBody(redactHeaders({ ...one }))]
      const isSecret = typeof one === 'string' && one !== '' && secretField.test(name)
      return [name, isSecret ? hidden : redactBody(one)]
    }),
  )
}

function withoutPasswords(text: string): string {
  return text.replace(/(:\/\/[^\s/:@]{1,200}):[^\s/@]{1,200}@/g, `$1:${hidden}@`)
}

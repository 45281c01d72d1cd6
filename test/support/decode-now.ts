import type { DecodedCall, Dialect } from '../../src/contract/dialect.ts'

/** Decodes a body with a synchronous dialect. */
export function decodeNow(dialect: Dialect, body: unknown, id = 'id-1'): DecodedCall {
  const decoded = dialect.decode({ body, headers: {} }, { id })
  if (decoded instanceof Promise) throw new Error('this dialect decodes asynchronously')
  return decoded
}

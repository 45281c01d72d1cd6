import type { DecodedCall, Dialect } from '../../src/contract/dialect.ts'

/** A body as a dialect decodes it that needs no time for it. */
export function decodeNow(dialect: Dialect, body: unknown, id = 'id-1'): DecodedCall {
  const decoded = dialect.decode({ body, headers: {} }, { id })
  if (decoded instanceof Promise) throw new Error('this dialect decodes asynchronously')
  return decoded
}

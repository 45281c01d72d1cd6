import { randomHex } from '../base/random-hex.ts'

/** The caller's `x-request-id`, if it is safe to log and to send back; it never names a generation. */
export function pickRequestId(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && /^[\x20-\x7e]{1,128}$/.test(sent) ? sent : `req_${randomHex()}`
}

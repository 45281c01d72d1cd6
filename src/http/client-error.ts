import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../contract/errors.ts'
import { encodeOpenaiError } from '../dialect/openai/errors.ts'
import type { ConnectionStage } from './in-flight-requests.ts'

type Problem = { readonly status: number; readonly text: string }

const malformed: Problem = { status: 400, text: 'the request is not valid HTTP' }
/** Node's failures with codes of their own; no other layer sees them. */
const problems: ReadonlyMap<unknown, Problem> = new Map([
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, text: 'the request took too long to arrive' }],
  ['HPE_HEADER_OVERFLOW', { status: 431, text: 'the headers of the request are larger than this server accepts' }],
])

/**
 * Replies to input that is not HTTP or does not arrive in time, and returns the status; `undefined` without a reply: a connection that
 * is sending one can only be closed.
 */
export function answerClientError(thrown: Error, socket: Socket, stage: ConnectionStage): number | undefined {
  if (!socket.writable || stage === 'replying') {
    socket.destroy()
    return undefined
  }
  const code = 'code' in thrown ? thrown.code : 'unknown'
  const { status, text } = problems.get(code) ?? malformed
  const error = new AppError('invalid-request', `${text} (${code})`, { cause: thrown })
  const body = JSON.stringify(encodeOpenaiError(error).body)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n`
  // A client that keeps its side open would hold the connection forever.
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`, () => socket.destroy())
  return status
}

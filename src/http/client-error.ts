import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../core/errors.ts'
import { encodeOpenaiError } from '../dialect/openai-errors.ts'

/** What is not even HTTP, or does not arrive in time. Once a reply may be on its way the connection can only be cut. */
export function onClientError(thrown: Error, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy()
    return
  }
  const code = 'code' in thrown ? thrown.code : 'unknown'
  const problem = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'the request took too long to arrive' : 'the request is not valid HTTP'
  const error = new AppError('invalid-request', `${problem} (${code})`, { cause: thrown })
  const body = JSON.stringify(encodeOpenaiError(error))
  const head = `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\ncontent-type: application/json; charset=utf-8\r\n`
  // A client that keeps its own half open would hold the connection without end.
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`, () => socket.destroy())
}

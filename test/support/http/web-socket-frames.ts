/** What a client writes to a socket: made by hand, so that thousands of messages are one write. */

export const textFrame = 1
export const binaryFrame = 2
export const pingFrame = 9

/** A request for the WebSocket of Responses. */
export function upgradeRequest(headers: readonly string[] = []): string {
  const lines = [
    'GET /v1/responses HTTP/1.1',
    'host: localhost',
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version: 13',
    ...headers,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** A frame with a mask of zeros. */
export function frame(text: string, opcode = textFrame, isLast = true): Buffer {
  const payload = Buffer.from(text)
  const length = payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 0xff]
  const [first = 0, ...rest] = length
  return Buffer.concat([Buffer.from([(isLast ? 0x80 : 0) | opcode, 0x80 | first, ...rest, 0, 0, 0, 0]), payload])
}

import { readFile } from 'node:fs/promises'
import { AppError, messageOf } from '../contract/errors.ts'
import { type ServerAddress, send } from './servers/client.ts'

/** What the connection of a replay has of its own. */
const ofConnections = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'accept-encoding', 'expect'])

type Captured = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/**
 * Sends captured requests again, one after the other, and prints the replies as they come; the key is that of this command. Returns the
 * exit code: 1 when one was refused.
 */
export async function replay(server: ServerAddress, files: readonly string[]): Promise<number> {
  let isRefused = false
  for (const file of files) {
    const request = await readCaptured(file)
    const { method, path, body } = request
    const init = {
      method,
      headers: ownHeaders(request),
      ...(body !== undefined && body !== null && { body: JSON.stringify(body) }),
    }
    const reply = await send(server, path, init)
    console.error(`${method} ${path}: ${reply.status}`)
    const decoder = new TextDecoder()
    for await (const bytes of reply.body ?? []) process.stdout.write(decoder.decode(bytes, { stream: true }))
    process.stdout.write('\n')
    isRefused ||= !reply.ok
  }
  return isRefused ? 1 : 0
}

async function readCaptured(file: string): Promise<Captured> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new AppError('invalid-request', `${file} cannot be read: ${messageOf(error)}`, { cause: error })
  })
  try {
    const { method, path, headers, body } = JSON.parse(text)
    if (typeof method === 'string' && typeof path === 'string' && path.startsWith('/'))
      return { method, path, headers: headers ?? {}, body }
  } catch {
    // It is named below.
  }
  throw new AppError('invalid-request', `${file} is not a captured request: it has no method and path`)
}

function ownHeaders({ headers }: Captured): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name, value]) => value !== '***' && !ofConnections.has(name)))
}

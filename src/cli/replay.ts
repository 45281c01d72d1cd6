import { readFile } from 'node:fs/promises'
import { printable } from '../app/log/printable.ts'
import { replayHeader } from '../check/turn.ts'
import { AppError, messageOf } from '../contract/errors.ts'
import { type ServerAddress, send } from './servers/client.ts'

/** Headers that belong to the connection of the replay. */
const ofConnections = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'accept-encoding', 'expect'])

type Captured = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly isAllowed: boolean
  /** A replay has sent it to the server, which captures those as well. */
  readonly isReplay: boolean
}

/**
 * Sends captured requests again, one after the other, and prints the replies as they arrive. Uses this command's key, so requests that
 * their caller was not allowed are left out, unless `all` is true. Returns the exit code: 1 if one was refused.
 */
export async function replay(
  server: ServerAddress,
  files: readonly string[],
  { all = false }: { readonly all?: boolean } = {},
): Promise<number> {
  let isRefused = false
  for (const file of files) {
    const request = await readCaptured(file)
    const { method, path, body, isAllowed, isReplay } = request
    if (isReplay) {
      console.error(`${printable(`${method} ${path}`)}: left out: a replay has sent it`)
      continue
    }
    if (!isAllowed && !all) {
      console.error(`${printable(`${method} ${path}`)}: left out: its caller was not allowed that, or left first; --all sends it`)
      continue
    }
    const init = {
      method,
      headers: { ...ownHeaders(request), [replayHeader]: 'true' },
      ...(body !== undefined && body !== null && { body: JSON.stringify(body) }),
    }
    const reply = await send(server, path, init)
    console.error(`${printable(`${method} ${path}`)}: ${reply.status}`)
    const decoder = new TextDecoder()
    for await (const bytes of reply.body ?? []) process.stdout.write(decoder.decode(bytes, { stream: true }))
    process.stdout.write('\n')
    isRefused ||= !reply.ok
  }
  return isRefused ? 1 : 0
}

/** Reads a file of `log.captureFolder`. Throws `invalid-request` for any other. */
export async function readCaptured(file: string): Promise<Captured> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new AppError('invalid-request', `${file} cannot be read: ${messageOf(error)}`, { cause: error })
  })
  try {
    const { method, path, headers, body, isAllowed } = JSON.parse(text)
    if (typeof method === 'string' && typeof path === 'string' && path.startsWith('/'))
      // A file without it comes from an operator rather than from `log.captureFolder`.
      return {
        method,
        path,
        headers: headers ?? {},
        body,
        isAllowed: isAllowed !== false,
        isReplay: headers?.[replayHeader] !== undefined,
      }
  } catch {
    // The file is named below.
  }
  throw new AppError('invalid-request', `${file} is not a captured request: it has no method and path`)
}

function ownHeaders({ headers }: Captured): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name, value]) => value !== '***' && !ofConnections.has(name)))
}

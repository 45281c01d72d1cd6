import { randomUUID } from 'node:crypto'
import { AppError } from '../../contract/errors.ts'
import type {
  FormPart,
  ServiceBody,
  ServiceCall,
  ServiceHead,
  ServiceKind,
  ServicePath,
  ServiceSink,
  Services,
} from '../../contract/services.ts'
import type { Progress } from './fleet/retry/retry-rule.ts'
import type { UpstreamAccess } from './servers/upstream.ts'
import type { HttpReply } from './transport/http-exchange.ts'
import { UpstreamError } from './transport/upstream-error.ts'

/** One call that any replica may answer, until its reply has begun. */
type Attempt = {
  readonly call: Pick<ServiceCall, 'callerKeys' | 'origin' | 'path'>
  /** The bytes of the request, roughly. */
  readonly size: number
  /** Calls `begun` at the first bytes of the reply. */
  attempt(access: UpstreamAccess, begun: () => void): Promise<void>
  progress(): Progress
  /** The bytes of the reply so far. */
  received(): number
}

type Deps = {
  readonly kinds: ReadonlySet<ServiceKind>
  tryReplicas(attempt: Attempt, signal: AbortSignal): Promise<void>
}

/** The routes besides language that the servers of a model have. */
export function createServices({ kinds, tryReplicas }: Deps): Services {
  return {
    kinds,
    send: async (call, sink, signal) => {
      let hasBegun = false
      let bytesReceived = 0
      const noted: ServiceSink = {
        begin: (head) => {
          hasBegun = true
          sink.begin(head)
        },
        write: (bytes) => {
          bytesReceived += bytes.length
          return sink.write(bytes)
        },
      }
      await tryReplicas(
        {
          call,
          size: sizeOf(call.body),
          attempt: (access, begun) => sendTo(access, call, { ...noted, write: firstly(begun, noted) }),
          progress: () => ({ hasAdvanced: false, hasBegun, canContinue: false }),
          received: () => bytesReceived,
        },
        signal,
      ).catch((error: unknown) => notOffered(error, call.path))
    },
  }
}

async function sendTo(
  { client, endpoint, upstream, headers, signal }: UpstreamAccess,
  { path, body }: ServiceCall,
  sink: ServiceSink,
): Promise<void> {
  const { model, profile } = upstream
  const request = { head: profile.head, headers, ...contentOf(path, body, model) }
  const reply = await client.stream(endpoint, request, signal)
  sink.begin(headOf(reply))
  await reply.body.consume((bytes) => {
    signal.throwIfAborted()
    return sink.write(bytes)
  })
}

/** Writes, and says so before. */
function firstly(begun: () => void, { write }: ServiceSink): ServiceSink['write'] {
  return (bytes) => {
    begun()
    return write(bytes)
  }
}

function sizeOf(body: ServiceBody): number {
  if (body.type !== 'form') return JSON.stringify(body.fields).length
  return body.parts.reduce((sum, part) => sum + ('value' in part ? part.value.length : part.bytes.length), 0)
}

function headOf({ headers }: HttpReply): ServiceHead {
  const { 'content-type': contentType, 'content-length': length } = headers
  return {
    ...(typeof contentType === 'string' && { contentType }),
    ...(typeof length === 'string' && /^\d+$/.test(length) && { contentLength: Number(length) }),
  }
}

/** A server without the route: the choice of the model is at fault, not the server. */
function notOffered(error: unknown, path: ServicePath): never {
  const isMissing =
    error instanceof UpstreamError && error.failure.type === 'status' && [404, 405, 501].includes(error.failure.status)
  if (!isMissing) throw error
  const message = `the servers behind this model do not answer at ${path}: ${error.message}; choose another model`
  throw new AppError('unsupported-field', message, { at: ['model'], cause: error })
}

/** The caller's request, with the server's name for the model. */
function contentOf(path: ServicePath, body: ServiceBody, model: string) {
  switch (body.type) {
    case 'query': {
      const query = new URLSearchParams({ model })
      for (const [name, value] of Object.entries(body.fields)) for (const each of [value].flat()) query.append(name, String(each))
      return { method: 'GET', path: `${path}?${query}` } as const
    }
    case 'json':
      return { method: 'POST', path, body: { ...body.fields, model } } as const
    case 'form':
      return { method: 'POST', path, bytes: formBytes([{ name: 'model', value: model }, ...body.parts]) } as const
  }
}

/** The parts as `multipart/form-data`, in their order. */
function formBytes(parts: readonly FormPart[]) {
  const boundary = `dragoman-${randomUUID()}`
  const pieces = parts.flatMap((part) => {
    const name = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(part.name)}"`
    if ('value' in part) return [Buffer.from(`${name}\r\n\r\n${part.value}\r\n`)]
    const type = /[\r\n]/.test(part.mediaType) ? 'application/octet-stream' : part.mediaType
    const head = `${name}; filename="${quoted(part.filename)}"\r\ncontent-type: ${type}\r\n\r\n`
    return [Buffer.from(head), part.bytes, Buffer.from('\r\n')]
  })
  const content = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)])
  return { contentType: `multipart/form-data; boundary=${boundary}`, content }
}

/** Escapes a name as browsers do in forms. */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readWav } from '../../../base/wav.ts'
import { AppError } from '../../../contract/errors.ts'
import { formatPath } from '../../../contract/field.ts'
import type { MediaBytes } from '../../../contract/media.ts'
import type { FormPart, ServicePath, ServiceSink } from '../../../contract/services.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { createOpenaiTranscriptions } from '../../../dialect/openai-transcriptions/dialect.ts'
import { encodeUnslothError } from '../../../dialect/unsloth/encode.ts'
import { decodeSpeech, encodeSpeech } from '../../../dialect/unsloth/speech.ts'
import { looseObject } from '../../../dialect/wire/first-fault.ts'
import { validate } from '../../../dialect/wire/validate.ts'
import { nonEmptyText } from '../../../dialect/wire/wire-types.ts'
import { callerOf } from '../../access/caller.ts'
import type { BodyRoom } from '../../body/body-room.ts'
import { takeForm } from '../../body/parse-form.ts'
import { noRoom } from '../../body/read-body.ts'
import { readForm } from '../../body/read-form.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import type { Exchange } from '../../reply/exchange.ts'
import { logFailure, wireCodeOf } from '../../reply/failure-log.ts'
import { PassedReply } from '../../reply/passed-reply.ts'
import { whenClosed } from '../../reply/when-closed.ts'
import { hasService, listServed, runService, type ServiceRequest } from '../../run/run-service.ts'
import { createDialectHandler, type DialectDeps } from '../../run/serve-dialect.ts'

type RouteDeps = DialectDeps & { readonly room: BodyRoom; readonly bodyLimitBytes: number }
type FilePart = Extract<FormPart, { readonly bytes: Uint8Array }>
type Read = (request: FastifyRequest) => ServiceRequest | Promise<ServiceRequest>

/** The only field that is read here: the other server checks the rest. */
const named = looseObject({ model: nonEmptyText.nullish() })
const ownFields = ['cancel_id', 'session_id']

/** Sound and pictures: requests for servers that have these services are passed on as they are; models that hear transcribe. */
export function addMediaServiceRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  const forms = { config: { ...config, takesUploads: true } }
  app.post('/v1/audio/speech', { config }, passing(deps, jsonOf('/audio/speech')))
  app.post('/v1/images/generations', { config }, passing(deps, jsonOf('/images/generations')))
  app.post('/v1/images/edits', forms, passing(deps, formOf(deps, '/images/edits')))
  app.post('/v1/images/variations', forms, passing(deps, formOf(deps, '/images/variations')))
  app.get('/v1/audio/voices', { config }, passing(deps, voicesOf))
  // As Open WebUI asks for them.
  app.get('/v1/audio/models', { config }, (request) => {
    return { models: listServed(deps, 'speech', callerOf(request)).map((id) => ({ id, name: id })) }
  })
  app.post('/v1/audio/transcriptions', forms, hearing(deps, 'transcription'))
  app.post('/v1/audio/translations', forms, hearing(deps, 'translation'))

  const unsloth = { scope: 'inference', encodeError: encodeUnslothError } as const
  app.post('/v1/audio/generate', { config: unsloth }, async (request, reply) => {
    const { model, fields, text, cancelFields, ignored } = decodeSpeech(takeRequiredBody(request).body)
    const collected = new CollectedReply()
    const call = { path: '/audio/speech', model, body: { type: 'json', fields }, cancelFields, ignored } as const
    const id = await runService(deps, { request, reply }, call, collected)
    return encodeSpeech(collected.bytes, { model: id, text, nowMs: Date.now() })
  })
}

function passing(deps: RouteDeps, read: Read) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    await pass(deps, { request, reply }, await read(request))
  }
}

/** Speech, for a server that has the service, or else for a model that hears. */
function hearing(deps: RouteDeps, kind: 'transcription' | 'translation') {
  const read = formOf(deps, `/audio/${kind}s`)
  const transcribe = createDialectHandler(deps, createOpenaiTranscriptions(kind === 'transcription' ? 'transcribe' : 'translate'))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const call = await read(request)
    const viewer = callerOf(request)
    const heard = call.model ?? deps.models.list(viewer).find(({ modalities }) => modalities?.audio === true)?.id
    if (heard === undefined || (await hasService(deps, { kind, name: call.model, viewer }))) {
      return pass(deps, { request, reply }, call)
    }
    const { file, ...fields } = formFields(call)
    request.body = { ...fields, model: heard, file: file && (await asWav(deps, { request, reply }, file)) }
    return transcribe(request, reply)
  }
}

/** The form of a call as an object: its file, and the texts of its fields. */
function formFields({ body, cancelFields }: ServiceRequest): Readonly<Record<string, unknown>> & { readonly file?: FilePart } {
  const parts = body.type === 'form' ? body.parts : []
  const file = parts.find((part): part is FilePart => part.name === 'file' && 'bytes' in part)
  const texts = parts.flatMap((part) => ('value' in part ? [[part.name, part.value] as const] : []))
  return { ...cancelFields, ...Object.fromEntries(texts), ...(file !== undefined && { file }) }
}

/** A recording in another format as WAV, where ffmpeg converts it: only WAV is divided into pieces that fit a model. */
async function asWav({ media, recordings }: RouteDeps, { request, reply }: Exchange, file: FilePart): Promise<FilePart> {
  if (media === undefined || recordings === undefined || readWav(file.bytes) !== undefined) return file
  const gone = new AbortController()
  whenClosed(reply.raw, () => gone.abort(new AppError('cancelled', 'the client has disconnected')))
  const { signal } = gone
  const source = { type: 'base64', base64: Buffer.from(file.bytes).toString('base64'), mediaType: file.mediaType } as const
  try {
    const held = await media.read([{ kind: 'audio', source, at: ['file'] }], { principal: callerOf(request), signal })
    const bytes = await recordings.recording(held.media[0] as MediaBytes, signal).finally(() => held.release())
    if (request.bodyShare?.grow(bytes.length) === false) throw noRoom()
    return { ...file, mediaType: 'audio/wav', bytes }
  } catch (thrown) {
    const error = AppError.from(thrown)
    if (error.at !== undefined || error.level !== 'info') throw error.inWordsOf(formatPath)
    throw new AppError(error.code, error.message, { param: 'file', cause: error })
  }
}

async function pass(deps: RouteDeps, { request, reply }: Exchange, call: ServiceRequest): Promise<void> {
  const passed = new PassedReply(deps, reply)
  try {
    await runService(deps, { request, reply }, call, passed)
    passed.end()
  } catch (thrown) {
    if (!passed.hasBegun) throw thrown
    const error = AppError.from(thrown)
    logFailure(request, error, { what: 'reply failed', code: wireCodeOf(encodeOpenaiError(error).body, error) })
    passed.break()
  }
}

function jsonOf(path: ServicePath): Read {
  return (request) => {
    const { model, cancel_id, session_id, ...fields } = validate(named, takeRequiredBody(request).body)
    return { path, model: model ?? undefined, body: { type: 'json', fields }, cancelFields: { cancel_id, session_id } }
  }
}

function voicesOf({ query }: FastifyRequest): ServiceRequest {
  const { model, cancel_id, session_id, ...fields } = validate(named, query)
  const body = { type: 'query', fields } as const
  return { path: '/audio/voices', model: model ?? undefined, body, cancelFields: { cancel_id, session_id } }
}

function formOf({ room, bodyLimitBytes: limitBytes }: RouteDeps, path: ServicePath): Read {
  const field = path.startsWith('/images/') ? 'image' : 'file'
  return async (request) => {
    const form = takeForm(request)
    const share = room.open()
    request.bodyShare = share
    const all = await readForm({ ...form, limitBytes, share })
    if (!all.some((part) => [field, `${field}[]`].includes(part.name) && 'bytes' in part)) {
      throw new AppError('invalid-request', `the form has no file: send it in the field '${field}'`, { param: field })
    }
    const fieldOf = (name: string) => all.map((part) => valueIn(part, name)).find((value) => value !== undefined)
    const parts = all.filter(({ name }) => name !== 'model' && !ownFields.includes(name))
    const cancelFields = Object.fromEntries(ownFields.map((name) => [name, fieldOf(name)]))
    const { model } = validate(named, { model: fieldOf('model') })
    return { path, model: model ?? undefined, body: { type: 'form', parts }, cancelFields }
  }
}

function valueIn(part: FormPart, name: string): string | undefined {
  return part.name === name && 'value' in part ? part.value : undefined
}

/** Some minutes of speech. */
const mostBytes = 64 * 1024 * 1024

/** The whole reply of another server, for one that is made of it. */
class CollectedReply implements ServiceSink {
  readonly #pieces: Uint8Array[] = []
  #sizeBytes = 0

  get bytes(): Buffer {
    return Buffer.concat(this.#pieces)
  }

  begin(): void {
    // What it is, its bytes say.
  }

  write(bytes: Uint8Array): undefined {
    this.#sizeBytes += bytes.length
    if (this.#sizeBytes > mostBytes) {
      throw new AppError('upstream-failed', `the server behind this model sent more than ${mostBytes} bytes of sound`)
    }
    this.#pieces.push(bytes)
  }
}

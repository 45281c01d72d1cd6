import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import type { FormPart, ServiceKind, ServiceSink } from '../../../contract/services.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { encodeUnslothError } from '../../../dialect/unsloth/encode.ts'
import { decodeSpeech, encodeSpeech } from '../../../dialect/unsloth/speech.ts'
import { looseObject } from '../../../dialect/wire/first-fault.ts'
import { validate } from '../../../dialect/wire/validate.ts'
import { nonEmptyText } from '../../../dialect/wire/wire-types.ts'
import type { BodyRoom } from '../../body/body-room.ts'
import { takeForm } from '../../body/parse-form.ts'
import { readForm } from '../../body/read-form.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { logFailure, wireCodeOf } from '../../reply/failure-log.ts'
import { PassedReply } from '../../reply/passed-reply.ts'
import type { Models, Replying, Watching } from '../../run/deps.ts'
import { runService, type ServiceRequest } from '../../run/run-service.ts'

type RouteDeps = Models & Watching & Replying & { readonly room: BodyRoom; readonly bodyLimitBytes: number }
type Read = (request: FastifyRequest) => ServiceRequest | Promise<ServiceRequest>

/** The only field that is read here: the other server checks the rest. */
const named = looseObject({ model: nonEmptyText.nullish() })
const ownFields = ['cancel_id', 'session_id']

/** Sound and pictures, which other servers make: their requests are passed on as they are. */
export function addMediaServiceRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  const forms = { config: { ...config, takesUploads: true } }
  app.post('/v1/audio/speech', { config }, passing(deps, jsonOf('speech')))
  app.post('/v1/images/generations', { config }, passing(deps, jsonOf('images')))
  app.post('/v1/audio/transcriptions', forms, passing(deps, formOf(deps, 'transcription')))
  app.post('/v1/audio/translations', forms, passing(deps, formOf(deps, 'translation')))

  const unsloth = { scope: 'inference', encodeError: encodeUnslothError } as const
  app.post('/v1/audio/generate', { config: unsloth }, async (request, reply) => {
    const { model, fields, text, cancelFields, ignored } = decodeSpeech(takeRequiredBody(request).body)
    const collected = new CollectedReply()
    const call = { kind: 'speech', model, body: { type: 'json', fields }, cancelFields, ignored } as const
    const id = await runService(deps, { request, reply }, call, collected)
    return encodeSpeech(collected.bytes, { model: id, text, nowMs: Date.now() })
  })
}

function passing(deps: RouteDeps, read: Read) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const call = await read(request)
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
}

function jsonOf(kind: ServiceKind): Read {
  return (request) => {
    const { model, cancel_id, session_id, ...fields } = validate(named, takeRequiredBody(request).body)
    return { kind, model: model ?? undefined, body: { type: 'json', fields }, cancelFields: { cancel_id, session_id } }
  }
}

function formOf({ room, bodyLimitBytes: limitBytes }: RouteDeps, kind: ServiceKind): Read {
  return async (request) => {
    const form = takeForm(request)
    const share = room.open()
    request.bodyShare = share
    const all = await readForm({ ...form, limitBytes, share })
    if (!all.some((part) => part.name === 'file' && 'bytes' in part)) {
      throw new AppError('invalid-request', "the form has no file: send it in the field 'file'", { param: 'file' })
    }
    const fieldOf = (name: string) => all.map((part) => valueIn(part, name)).find((value) => value !== undefined)
    const parts = all.filter(({ name }) => name !== 'model' && !ownFields.includes(name))
    const cancelFields = Object.fromEntries(ownFields.map((name) => [name, fieldOf(name)]))
    const { model } = validate(named, { model: fieldOf('model') })
    return { kind, model: model ?? undefined, body: { type: 'form', parts }, cancelFields }
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

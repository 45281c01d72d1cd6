import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DecodeContext, DecodedCall, Dialect } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import type { StartEvent } from '../../contract/event.ts'
import { foldEvents } from '../../contract/result.ts'
import type { Generation } from '../../core/generate.ts'
import { answer } from '../../core/tool-loop/answer.ts'
import { withoutDone } from '../../dialect/openai/chunk-template.ts'
import { callerOf } from '../access/caller.ts'
import { hasLargeBody, takeRequiredBody } from '../body/take-body.ts'
import { shownTo } from '../reply/error-reply.ts'
import { openEventStream } from '../reply/event-stream.ts'
import { logFailure, wireCodeOf } from '../reply/failure-log.ts'
import { addEndHeaders, type GenerationFacts, noteEvent } from '../reply/generation-facts.ts'
import { jsonReply } from '../reply/json-reply.ts'
import { type KeptStream, keptStreamBytes } from '../reply/kept-streams.ts'
import { addIgnored, addStartHeaders } from '../reply/reply-headers.ts'
import { withModel } from './default-model.ts'
import type { Generating, Keeping, Models, Replying, Watching } from './deps.ts'
import { keepLoaded } from './keep-loaded.ts'
import { keptGeneration, refuseWithoutStore } from './kept-generation.ts'
import { openRun } from './open-run.ts'

export type DialectDeps = Generating & Models & Watching & Keeping & Replying

type HandlerOptions = {
  /** The field of a body for the model; without it, a request is for the default model. */
  readonly modelField?: string
  /** A request has to name its model. */
  readonly hasDefaultModel?: false
}

/** The handler of generation requests, for all dialects and engines. */
export function createDialectHandler(
  deps: DialectDeps,
  dialect: Dialect,
  { modelField = 'model', hasDefaultModel }: HandlerOptions = {},
) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const id = dialect.createId()
    const { caller, handle, detach } = openRun(deps, { request, reply }, { id, body: request.body })
    let call: DecodedCall | undefined
    let keep: (() => void) | undefined
    let kept: KeptStream | undefined
    caller.watch?.began()
    try {
      const decoding = dialect.decode({ headers: request.headers, ...takeInput(request) }, originOf(request, id))
      call = decoding instanceof Promise ? await decoding : decoding
      if (request.pinsPrompt === true) call = withPinnedPrompts(call)
      refuseWithoutStore(call, deps.store)
      if (call.stream) kept = deps.streams?.open(request.headers['x-conversation-id'], { owner: caller.principal.id, handle })
      if (kept !== undefined) detach()
      if (hasLargeBody(request)) await nextTurn()
      const keeping = keepLoaded(call.keepLoaded, caller.principal)
      caller.watch?.asked(call.requests[0].model)
      const facts: GenerationFacts = { generationId: id, requestedModel: call.requests[0].model, isStreamed: call.stream }
      request.generation = facts
      if (keeping.ignored.length > 0) call = { ...call, ignored: [...call.ignored, ...keeping.ignored] }
      addIgnored(reply, call.ignored)
      const found = deps.models.find(call.requests[0].model, caller.principal)
      const model = found instanceof Promise ? await found : found
      handle.servedBy(model.id)
      facts.model = model.id
      keep = () => keeping.keep(model)
      const context = { model, ...(!call.stream && { isWhole: true as const }), ...caller }
      const generation = stored(noted(answer(deps, call.requests, context), { call, facts }), call, { request, facts })
      if (call.stream) {
        await stream({ generation, call, request, reply, kept })
        // Even without a byte sent: then the client has disconnected.
        reply.hijack()
        return
      }
      const result = await foldEvents(generation)
      addStartHeaders(result.start, call, reply)
      addEndHeaders(facts, reply)
      if (call.resultType !== undefined) return reply.type(call.resultType).send(call.encodeResult(result))
      return jsonReply(reply, call.encodeResult(result))
    } catch (thrown) {
      const error = call === undefined ? AppError.from(thrown) : AppError.from(thrown).inWordsOf(call.nameOf)
      if (!reply.sent) throw error
      // The error itself could not be encoded; the stream has ended.
      logFailure(request, error, { what: 'stream failed', code: wireCodeOf(dialect.encodeError(error).body, error) })
      return
    } finally {
      keep?.()
      if (kept !== undefined) deps.streams?.close(kept)
      handle.close()
    }
  }

  function originOf(request: FastifyRequest, id: string): DecodeContext {
    const caller = callerOf(request)
    const serverTools = deps.tools?.namesFor(caller)
    return {
      id,
      requestId: request.id,
      owner: caller.id,
      ...(deps.keepsCompletions === true && { keepsCompletions: true }),
      ...(serverTools !== undefined && { serverTools }),
      ...(serverTools !== undefined && readsToolFrames(request) && { readsToolFrames: true }),
    }
  }

  function stored(
    generation: Generation,
    { toStored }: DecodedCall,
    { request, facts }: { readonly request: FastifyRequest; readonly facts: GenerationFacts },
  ): Generation {
    const { store, log } = deps
    if (store === undefined || toStored === undefined) return generation
    const onFailure = (err: unknown) => {
      facts.isUnstored = true
      log.error({ err, requestId: request.id }, 'a chat completion could not be stored')
    }
    return keptGeneration(generation, { store, toStored, owner: callerOf(request).id, onFailure })
  }

  /** Not in the handler, which would keep the body alive. */
  function takeInput(request: FastifyRequest): ReturnType<typeof takeRequiredBody> {
    const input = takeRequiredBody(request)
    if (hasDefaultModel === false) return input
    return { ...input, body: withModel(input.body, deps, callerOf(request), modelField) }
  }

  /** Throws only before anything is sent; a later failure is the stream's last event. */
  async function stream({ generation, call, request, reply, kept }: StreamArgs): Promise<void> {
    const encoder = request.surface === 'llama-stack' ? withoutDone(call.createStreamEncoder()) : call.createStreamEncoder()
    let start: StartEvent | undefined
    const writer = openEventStream(deps, reply, {
      heartbeat: dialect.heartbeat,
      isGeneration: true,
      ...(kept !== undefined && { keep: (text) => kept.log.add(Buffer.from(text)) }),
      ...(dialect.framing !== undefined && { framing: dialect.framing }),
      addHeaders: () => {
        if (start !== undefined) addStartHeaders(start, call, reply)
      },
    })
    try {
      await generation.run((event) => {
        if (event.type === 'error') throw event.error
        if (event.type === 'start') {
          start = event
          // A failure before the next event still gets its HTTP status.
          writer.hold(encoder.encode(event))
          return undefined
        }
        writer.write(encoder.encode(event))
        if (kept === undefined) return writer.waitForReader()
        // It continues without its reader, which finds again what it has missed.
        if (reply.raw.writableLength > keptStreamBytes) reply.raw.destroy()
        return undefined
      })
      writer.start()
    } catch (thrown) {
      if (!writer.started) throw thrown
      const error = AppError.from(thrown).inWordsOf(call.nameOf)
      logFailure(request, error, { what: 'stream failed', code: wireCodeOf(dialect.encodeError(error).body, error) })
      writer.write(encoder.encode({ type: 'error', error: shownTo(request.principal, error) }))
    } finally {
      writer.end()
    }
  }
}

function withPinnedPrompts(call: DecodedCall): DecodedCall {
  const [first, ...rest] = call.requests.map((request) => ({ ...request, pinsPrompt: true as const }))
  return first === undefined ? call : { ...call, requests: [first, ...rest] }
}

type Noting = { readonly call: DecodedCall; readonly facts: GenerationFacts }

/** Wraps a generation: the call checks its start, and its events are noted for the log. */
function noted({ run }: Generation, { call, facts }: Noting): Generation {
  return {
    run: (emit) =>
      run((event) => {
        if (event.type === 'start') call.checkStart?.(event)
        noteEvent(facts, event)
        call.observe?.(event)
        return emit(event)
      }),
  }
}

type StreamArgs = {
  readonly generation: Generation
  readonly call: DecodedCall
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly kept: KeptStream | undefined
}

/**
 * Whether a client reads frames about server tools, which Unsloth's own field requests. OpenAI's SDKs, which identify themselves, fail on
 * them, except on Unsloth's routes.
 */
function readsToolFrames({ surface, headers }: FastifyRequest): boolean {
  return surface === 'unsloth' || headers['x-stainless-lang'] === undefined
}

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../contract/errors.ts'
import type { GenerationEvent, StartEvent } from '../../contract/event.ts'
import { settledStart } from '../../contract/is-truncated.ts'
import { providerDataHeader, readProviderData } from '../../dialect/llama-stack/provider-data.ts'
import { acceptResponse, createResponseId } from '../../responses/accept.ts'
import type { SentKeys } from '../../responses/caller-keys.ts'
import type { ResponseRun } from '../../responses/response-run.ts'
import type { ResponsesService } from '../../responses/service.ts'
import { hasLargeBody, takeRequiredBody } from '../body/take-body.ts'
import { addEndHeaders, factFields, type GenerationFacts, noteEvent } from '../reply/generation-facts.ts'
import { jsonReply } from '../reply/json-reply.ts'
import { addIgnored } from '../reply/reply-headers.ts'
import type { Replying, Watching } from '../run/deps.ts'
import { type OpenRun, openRun } from '../run/open-run.ts'
import { addResponseHeaders, noteResponseEvent, streamFollowed, streamRun, unseenFields } from './stream-response.ts'

export function createResponseHandler(deps: Watching & Replying, service: ResponsesService) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const id = createResponseId()
    const { caller, handle, detach } = openRun(deps, { request, reply }, { id, body: request.body })
    let run: ResponseRun | undefined
    let isDetached = false
    caller.watch?.began()
    try {
      run = await acceptResponse(service, takeRequiredBody(request).body, { caller, sentKeys: readSentKeys(request) })
      if (hasLargeBody(request)) await nextTurn()
      const { decoded } = run.parts
      const facts = noteAccepted(run, { request, caller, handle })
      addIgnored(reply, decoded.ignored)
      if (!decoded.background) {
        if (!decoded.stream) return await answerWhole(run, { reply, facts })
        await streamRun(deps, run, { request, reply, facts })
        reply.hijack()
        return
      }
      detach()
      const live = await service.background.start(run, (event) => noteResponseEvent(facts, event, request))
      isDetached = true
      void live.ended.then(() => {
        handle.close()
        const fields = { requestId: request.id, key: caller.principal.id, ...unseenFields(live.run), ...factFields(facts) }
        request.log.info({ ...fields, durationMs: Math.round(deps.now() - caller.receivedAtMs) }, 'background response ended')
      })
      if (!decoded.stream) return jsonReply(reply, run.snapshot())
      await streamFollowed(deps, { request, reply }, (emit, signal) => live.log.follow(-1, emit, signal))
      reply.hijack()
      return
    } catch (thrown) {
      throw run === undefined ? thrown : AppError.from(thrown).inWordsOf(run.parts.decoded.nameOf)
    } finally {
      if (!isDetached) {
        handle.close()
        run?.close()
      }
    }
  }
}

/** Notes what a request turned out to ask for. */
export function noteAccepted(
  { parts: { decoded, context } }: ResponseRun,
  { request, caller, handle }: Pick<OpenRun, 'caller' | 'handle'> & { readonly request: FastifyRequest },
): GenerationFacts {
  const { model, id } = context
  handle.servedBy(model.id)
  caller.watch?.asked(decoded.request.model)
  const facts: GenerationFacts = {
    generationId: id,
    requestedModel: decoded.request.model,
    isStreamed: decoded.stream,
    model: model.id,
  }
  request.generation = facts
  return facts
}

type Answering = {
  readonly reply: FastifyReply
  readonly facts: GenerationFacts
  /** Takes all events of another protocol's reply, and makes it; absent: the response is the reply. */
  readonly encoder?: { encode(event: GenerationEvent): unknown; result(): unknown }
}

/** A failed response is an error, as in other protocols: clients of whole replies do not check its status. */
export async function answerWhole(run: ResponseRun, { reply, facts, encoder }: Answering): Promise<unknown> {
  let start: StartEvent | undefined
  let failure: AppError | undefined
  const observe = (event: GenerationEvent) => {
    noteEvent(facts, event)
    encoder?.encode(event)
    if (event.type === 'start') start = event
    if (event.type === 'finish' && start !== undefined) start = settledStart(start, [event])
    if (event.type === 'error') failure = event.error
  }
  await run.run({ observe, emit: () => undefined })
  if (failure !== undefined) throw failure
  if (run.isUnstored) facts.isUnstored = true
  addResponseHeaders(run, start, reply)
  addEndHeaders(facts, reply)
  return jsonReply(reply, encoder?.result() ?? run.snapshot())
}

/** The keys in a request's header; undefined without one. Throws for an unreadable header. */
export function readSentKeys({ headers }: Pick<FastifyRequest, 'headers'>): SentKeys | undefined {
  if (headers[providerDataHeader] === undefined) return undefined
  const { callerKeys, ignored } = readProviderData(headers)
  return { place: providerDataHeader, ignored, ...(callerKeys !== undefined && { keys: callerKeys }) }
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../contract/errors.ts'
import type { OnLoading } from '../../contract/scheduler.ts'
import { type DecodedChat, decodeChat } from '../../dialect/lm-studio/decode-chat.ts'
import { ChatEncoder } from '../../dialect/lm-studio/encode-chat.ts'
import { renameField } from '../../dialect/lm-studio/rename-field.ts'
import { readAbilities } from '../../dialect/unsloth/template-abilities.ts'
import { acceptResponse, createResponseId } from '../../responses/accept.ts'
import type { ResponseRun } from '../../responses/response-run.ts'
import type { ResponsesService } from '../../responses/service.ts'
import { takeRequiredBody } from '../body/take-body.ts'
import { shownTo } from '../reply/error-reply.ts'
import { addIgnored } from '../reply/reply-headers.ts'
import type { SseWriter } from '../reply/sse.ts'
import type { Models, Replying, Watching } from '../run/deps.ts'
import { openRun } from '../run/open-run.ts'
import { answerWhole, noteAccepted, readSentKeys } from './serve-response.ts'
import { streamRun } from './stream-response.ts'

/** How often a stream shows how far a load is. */
const loadEveryMs = 500

type ChatDeps = Models & Watching & Replying & { readonly responses: ResponsesService }

/** The handler of LM Studio's `POST /api/v1/chat`: a response in other words, stored like one. */
export function createLmStudioChat(deps: ChatDeps) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const chat = decodeChat(takeRequiredBody(request).body)
    const opened = openRun(deps, { request, reply }, { id: createResponseId(), body: request.body })
    const { caller, handle } = opened
    let onLoading: OnLoading | undefined
    const withLoads: OnLoading = (placeOf) => {
      caller.onLoading?.(placeOf)
      onLoading?.(placeOf)
    }
    let run: ResponseRun | undefined
    caller.watch?.began()
    try {
      if (chat.needsServers && deps.responses.tools?.namesFor(caller.principal) === undefined) throw noServers()
      run = await acceptResponse(deps.responses, chat.body, {
        caller: { ...caller, onLoading: withLoads },
        sentKeys: readSentKeys(request),
        terms: { tellsProgress: true, asks: 'never' },
      })
      await refuseImpossible(deps, chat, run)
      const facts = noteAccepted(run, { request, caller, handle })
      addIgnored(reply, [...chat.ignored, ...run.parts.decoded.ignored.map(chat.nameOf)])
      const { id, parts } = run
      const isStored = () => deps.responses.store !== undefined && parts.decoded.store && run?.isUnstored !== true
      const encoder = new ChatEncoder({
        model: parts.context.model.id,
        ownServers: chat.ownServers,
        responseId: () => (isStored() ? id : undefined),
      })
      if (!chat.stream) return await answerWhole(run, { reply, facts, encoder })
      const loads = new ShownLoad(deps, encoder)
      onLoading = loads.show
      await streamRun(deps, run, {
        request,
        reply,
        facts,
        onOpen: loads.open,
        encode: (event) => {
          if (event.type !== 'error') return loads.end() + encoder.encode(event)
          const error = shownTo(request.principal, inWordsOf(chat, run, event.error))
          return loads.end() + encoder.encode({ type: 'error', error })
        },
      }).finally(() => loads.end())
      reply.hijack()
      return
    } catch (thrown) {
      throw inWordsOf(chat, run, AppError.from(thrown))
    } finally {
      handle.close()
      run?.close()
    }
  }
}

function noServers(): AppError {
  const message =
    'integrations are not available: this server has no MCP servers for this API key (`tools` of the configuration); leave them out'
  return new AppError('unsupported-field', message, { param: 'integrations' })
}

/** Throws for settings that the model does not have. */
async function refuseImpossible({ models, modelFiles }: Models, { reasoning, contextLength }: DecodedChat, run: ResponseRun) {
  const { id, engine } = run.parts.context.model
  const file = await modelFiles?.describe(id)
  const most = engine.facts.contextLength ?? models.summary({ id }).contextLength ?? file?.contextLength
  if (contextLength !== undefined && most !== undefined && contextLength > most) {
    const param = 'context_length'
    const message = `${param} ${contextLength} is more than the ${most} tokens of model '${id}': leave it out, or load the model with it (POST /api/v1/models/load)`
    throw new AppError('invalid-request', message, { param })
  }
  if (reasoning === undefined || reasoning === null || reasoning === 'off') return
  if (readAbilities(engine.facts.chatTemplate ?? file?.chatTemplate, id).supports_reasoning) return
  const message = `reasoning "${reasoning}" is not supported: model '${id}' has no reasoning that could be switched; leave it out or send "off"`
  throw new AppError('unsupported-field', message, { param: 'reasoning' })
}

/** The same failure in the words of the caller's protocol. */
function inWordsOf(chat: DecodedChat, run: ResponseRun | undefined, thrown: AppError): AppError {
  const nameOf = run?.parts.decoded.nameOf
  const error = nameOf === undefined ? thrown : thrown.inWordsOf((path) => chat.nameOf(nameOf(path)))
  return renameField(error, chat.nameOf)
}

/** Writes how far the load of a model is, while a stream waits for it. */
class ShownLoad {
  readonly #encoder: ChatEncoder
  readonly #now: () => number
  #writer: SseWriter | undefined
  #timer: NodeJS.Timeout | undefined
  #sinceMs = 0

  constructor({ now }: Pick<Watching, 'now'>, encoder: ChatEncoder) {
    this.#encoder = encoder
    this.#now = now
  }

  readonly open = (writer: SseWriter): void => {
    this.#writer = writer
  }

  readonly show: OnLoading = (placeOf) => {
    this.#sinceMs = this.#now()
    const write = () => {
      const place = placeOf()
      if (place !== undefined) this.#writer?.write(this.#encoder.loading(place.state === 'loading' ? place.progress : 0))
    }
    write()
    clearInterval(this.#timer)
    this.#timer = setInterval(write, loadEveryMs)
  }

  /** The frames of the load's end. */
  end(): string {
    if (this.#timer === undefined) return ''
    clearInterval(this.#timer)
    this.#timer = undefined
    return this.#encoder.loaded((this.#now() - this.#sinceMs) / 1000)
  }
}

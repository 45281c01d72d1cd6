import { AppError } from '../contract/errors.ts'
import { chat, user, words } from './probe/asks.ts'
import type { Exchange, Server } from './probe/exchange.ts'
import { at, listAt, numberAt, textAt, usageIn } from './probe/read.ts'
import { messageIn, short } from './probe/row.ts'
import type { Sender } from './run.ts'

type SurveyOptions = {
  readonly url: string
  readonly hasKey: boolean
  /** Default: the first model of the list. */
  readonly model?: string | undefined
  /** The model for vectors and rankings. Default: the first whose name says that it makes vectors, else the same. */
  readonly vectorModel?: string | undefined
}

/** Learns what the checks need to know of a server. Throws if nothing answers, or there is no model to ask for. */
export async function survey(sender: Sender, options: SurveyOptions): Promise<Server> {
  const listed = await sender.send({ path: '/v1/models' })
  if (listed === undefined || listed.status === 0)
    throw new AppError('engine-failed', `nothing answers at ${options.url}: ${listed?.failure}`)
  if (listed.status >= 300 && listed.status < 400)
    throw new AppError('engine-failed', `${options.url} redirects to ${listed.headers.location ?? 'nowhere'}: name that server`)
  if (listed.status === 401 || listed.status === 403)
    throw new AppError(
      'unauthorized',
      `the server at ${options.url} answers ${listed.status}: ${messageIn(listed) ?? short(listed.text, 80)}; ` +
        (options.hasKey ? 'it does not accept this key' : 'give its key, as with --key'),
    )
  const cards = listAt(listed.json, 'data')
  const model = options.model ?? textAt(cards[0], 'id')
  if (model === undefined)
    throw new AppError(
      'invalid-request',
      `${options.url}/v1/models lists no model (${short(listed.text, 80)}): name one with --model`,
    )
  const vectorModel =
    options.vectorModel ??
    cards.map((card) => textAt(card, 'id') ?? '').find((id) => /embed|bge|e5-|gte-|rerank/i.test(id)) ??
    model
  const card = cards.find((one) => at(one, 'id') === model)
  const props = await sender.send({ path: '/props' })
  const contextLength = [
    numberAt(card, 'context_length'),
    numberAt(card, 'max_model_len'),
    numberAt(props?.json, 'default_generation_settings.n_ctx'),
  ].find((found) => found !== undefined && found > 0)
  const server = {
    model,
    vectorModel,
    contextLength,
    slots: numberAt(props?.json, 'total_slots'),
    hasKey: options.hasKey,
    promptSpeed: slowest,
    tokensPerWord: 1,
    hasEndlessRuns: false,
  }
  await refuseUnknownModel(sender, server, options)
  return { ...server, ...(await measurePrompts(sender, server)), hasEndlessRuns: await hasEndlessRuns(sender, server) }
}

/** Else each area would seem not to be offered. */
async function refuseUnknownModel(sender: Sender, server: Server, { url, model }: SurveyOptions): Promise<void> {
  if (model === undefined) return
  const reply = await sender.send(chat(server))
  if (reply?.status === 404 && messageIn(reply)?.includes(model) === true)
    throw new AppError('model-not-found', `the server at ${url} has no model '${model}': ${messageIn(reply)}`)
}

const prompt = (server: Server, count: number) => chat(server, { messages: [user(words(count))], max_tokens: 2 })

/** From two prompts of different lengths, so that the time of the way, and the template, count once. */
async function measurePrompts(sender: Sender, server: Server): Promise<Pick<Server, 'promptSpeed' | 'tokensPerWord'>> {
  const [few, many] = [40, 240]
  const [small, large] = [await sender.send(prompt(server, few)), await sender.send(prompt(server, many))]
  const [less, more] = [small && usageIn(small).input, large && usageIn(large).input]
  if (small === undefined || large === undefined || less === undefined || more === undefined || more <= less)
    return { promptSpeed: slowest, tokensPerWord: 1 }
  const ms = Math.max(large.ms - small.ms, 20)
  return { promptSpeed: Math.max(slowest, ((more - less) * 1000) / ms), tokensPerWord: (more - less) / (many - few) }
}
const slowest = 50

async function hasEndlessRuns(sender: Sender, server: Server): Promise<boolean> {
  const tokens = 24
  const reply: Exchange | undefined = await sender.send(
    chat(server, { messages: [user('Say hello.')], max_tokens: tokens, ignore_eos: true }),
  )
  return reply?.status === 200 && usageIn(reply).output === tokens
}

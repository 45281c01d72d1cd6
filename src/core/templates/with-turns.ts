import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { ChatPrompt, GenerationRequest, Message, TurnPlaceholders } from '../../contract/request.ts'

type TurnTexts = { readonly [Place in keyof TurnPlaceholders]: string }

/** KoboldCpp's for a model without a template. */
const plainTexts: TurnTexts = {
  user: '\n### Instruction:\n',
  userEnd: '',
  assistant: '\n### Response:\n',
  assistantEnd: '',
}
const at = ['prompt', 'turns']
const [question, answer, next] = ['How is the sea?', 'It is calm.', 'And the sky?'] as const

/**
 * The request with the texts of the model's chat template in the place of its placeholders; unchanged without them. Call it when the model
 * is ready. Rejects with `unsupported-field` if the template is only known to another server.
 */
export function withTurns(
  request: GenerationRequest,
  engine: Pick<Engine, 'facts' | 'capabilities'>,
  signal: AbortSignal,
): GenerationRequest | Promise<GenerationRequest> {
  const { prompt } = request
  if (prompt.type !== 'text' || prompt.turns === undefined) return request
  const { turns, ...rest } = prompt
  return readTexts(engine, signal).then((texts) => {
    const write = createWriter(turns, texts, [rest.text, ...request.stop].join('\n'))
    return { ...request, prompt: { ...rest, text: write(rest.text) }, stop: request.stop.map(write) }
  })
}

/** A text that begins with a user's turn ends no turn before it. */
function createWriter(turns: TurnPlaceholders, texts: TurnTexts, all: string): (text: string) => string {
  const hasEnds = all.includes(turns.userEnd) || all.includes(turns.assistantEnd)
  const user = hasEnds ? texts.user : texts.assistantEnd + texts.user
  const assistant = hasEnds ? texts.assistant : texts.userEnd + texts.assistant
  return (text) =>
    (text !== turns.user && text.startsWith(turns.user) ? texts.user + text.slice(turns.user.length) : text)
      .replaceAll(turns.user, () => user)
      .replaceAll(turns.assistant, () => assistant)
      .replaceAll(turns.userEnd, () => texts.userEnd)
      .replaceAll(turns.assistantEnd, () => texts.assistantEnd)
}

async function readTexts(
  { facts, capabilities }: Pick<Engine, 'facts' | 'capabilities'>,
  signal: AbortSignal,
): Promise<TurnTexts> {
  const { tokenizer } = capabilities
  const render = (messages: readonly Message[]) => {
    const prompt: ChatPrompt = { type: 'chat', messages, tools: [], templateVariables: {}, start: 'bare', responsePrefix: '' }
    return tokenizer?.render({ prompt, reasoning: {} }, signal)
  }
  try {
    const [one, two, three] = await Promise.all([1, 2, 3].map((count) => render(conversation.slice(0, count))))
    if (one !== undefined && two !== undefined && three !== undefined) return textsOf({ one, two, three })
  } catch (error) {
    signal.throwIfAborted()
    if (AppError.from(error).code === 'template-failed') {
      if (facts.chatTemplate === undefined) return plainTexts
      throw error
    }
  }
  const message = `${field(...at)} true: the server of this model renders conversations itself, so what surrounds its turns is not known here; send messages to /v1/chat/completions`
  throw new AppError('unsupported-field', message, { at })
}

const conversation: readonly Message[] = [
  { role: 'user', content: [{ type: 'text', text: question }] },
  { role: 'assistant', parts: [{ type: 'text', text: answer }] },
  { role: 'user', content: [{ type: 'text', text: next }] },
]

/** The parts that a template adds to one, two and three turns. */
function textsOf({ one, two, three }: { readonly one: string; readonly two: string; readonly three: string }): TurnTexts {
  const [before, after] = [between(three, question, answer), between(three, answer, next)]
  const userEnd = sharedStart(before, one.slice(one.indexOf(question) + question.length))
  const assistantEnd = sharedStart(after, two.slice(two.indexOf(answer) + answer.length))
  return { user: after.slice(assistantEnd.length), userEnd, assistant: before.slice(userEnd.length), assistantEnd }
}

function between(text: string, start: string, end: string): string {
  const from = text.indexOf(start) + start.length
  const to = text.indexOf(end, from)
  if (from >= start.length && to >= from) return text.slice(from, to)
  const message = `${field(...at)} true: the chat template of this model does not write the texts of turns as they are; send messages to /v1/chat/completions`
  throw new AppError('unsupported-field', message, { at })
}

function sharedStart(left: string, right: string): string {
  let length = 0
  while (length < left.length && left[length] === right[length]) length += 1
  return left.slice(0, length)
}

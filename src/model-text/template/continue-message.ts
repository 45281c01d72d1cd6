import { AppError } from '../../contract/errors.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import { joinText } from './template-messages.ts'
import type { Turn } from './turn.ts'

type Tags = NonNullable<OutputFormat['reasoning']>

type ContinueOptions = {
  /** Renders a conversation; `generationPrompt` opens the assistant's next turn at its end. */
  readonly render: (messages: readonly Turn[], options: { readonly generationPrompt: boolean }) => string
  /** The tags around the model's reasoning; undefined for a model without reasoning. */
  readonly tags: Tags | undefined
  /** The template prints the reasoning of earlier turns, so the white space in `tags` comes from the template. */
  readonly showsReasoning: boolean
}

/** A prompt that ends inside its last message. */
export type ContinuedPrompt = { readonly text: string; readonly startsInReasoning: boolean }

/** Unicode noncharacters, which no text contains: one of them shows where the text ends in the rendered prompt. */
const sentinels = ['\ufffe', '\uffff']

/**
 * Renders a conversation up to the end of the last message's text, without the token that ends the turn, like
 * `continue_final_message` of `transformers`. If the template trims texts, the end is trimmed. Throws `invalid-request` when
 * the last message cannot be continued.
 */
export function continueLastMessage(messages: readonly Turn[], options: ContinueOptions): ContinuedPrompt {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') throw refusal('the last message is not an assistant message, so it cannot be continued')
  if (last.toolCalls.length > 0) throw refusal('the last message contains tool calls, so its text cannot be continued')
  const text = joinText(last.content)
  if (last.reasoning !== undefined && last.reasoning !== '') {
    return continueReasoning({ reasoning: last.reasoning, text }, messages.slice(0, -1), options)
  }
  if (text === '') throw refusal('the last message has no text to continue')
  return { text: renderToEnd(messages, { last, text, render: options.render }), startsInReasoning: false }
}

type ReasonedText = { readonly reasoning: string; readonly text: string }

/** Templates drop reasoning, or print it only in some turns: it is appended to the generation prompt as the model writes it. */
function continueReasoning(
  { reasoning, text }: ReasonedText,
  before: readonly Turn[],
  options: ContinueOptions,
): ContinuedPrompt {
  const { tags, showsReasoning, render } = options
  const start = render(before, { generationPrompt: true })
  if (tags === undefined) {
    if (text === '') throw refusal('the last message has only reasoning, which this model does not support')
    return { text: start + text, startsInReasoning: false }
  }
  const open = showsReasoning ? tags.open : tags.open.trim()
  const close = showsReasoning ? tags.close : tags.close.trim()
  const opened = dropReasoningBlock(start, tags) + open + reasoning
  return text === ''
    ? { text: opened, startsInReasoning: true }
    : { text: `${opened}${close}${answerStart(tags)}${text}`, startsInReasoning: false }
}

/** The generation prompt without a reasoning block at its end, open or closed. */
function dropReasoningBlock(prompt: string, { open, close }: Tags): string {
  const end = prompt.trimEnd()
  const inner = end.endsWith(close.trim()) ? end.slice(0, -close.trim().length).trimEnd() : end
  return inner.endsWith(open.trim()) ? inner.slice(0, -open.trim().length) : prompt
}

/** Harmony has a channel for each kind of text: the answer starts with its own header. */
function answerStart({ open }: Tags): string {
  return open.startsWith('<|channel|>analysis') ? '<|start|>assistant<|channel|>final<|message|>' : ''
}

type EndOptions = { readonly last: Turn; readonly text: string; readonly render: ContinueOptions['render'] }

function renderToEnd(messages: readonly Turn[], { last, text, render }: EndOptions): string {
  const sentinel = sentinels.find((candidate) => !text.includes(candidate))
  if (sentinel === undefined) throw refusal('the last message contains the Unicode noncharacters U+FFFE and U+FFFF')
  const extended: Turn = { ...last, content: [{ type: 'text', text: text + sentinel }] }
  const rendered = render([...messages.slice(0, -1), extended], { generationPrompt: false })
  const end = rendered.lastIndexOf(sentinel)
  if (end === -1) throw refusal("the model's chat template does not show the last message, so it cannot be continued")
  const prompt = rendered.slice(0, end)
  // The sentinel protects the white space before it from a template that trims; a render without it shows the trimming.
  const trims = !render(messages, { generationPrompt: false }).startsWith(prompt)
  return trims ? prompt.trimEnd() : prompt
}

function refusal(message: string): AppError {
  return new AppError('invalid-request', message, { at: ['prompt', 'messages'] })
}

import { AppError } from '../../contract/errors.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import { joinText } from './template-messages.ts'
import type { Turn } from './turn.ts'

type Tags = NonNullable<OutputFormat['reasoning']>

export type ContinueOptions = {
  /** Renders a conversation; `generationPrompt` opens the assistant's next turn at its end. */
  readonly render: (messages: readonly Turn[], options: { readonly generationPrompt: boolean }) => string
  /** What the model puts around reasoning; absent when it has none. */
  readonly tags: Tags | undefined
  /** The template shows the reasoning of earlier turns, so the white space in `tags` is its own. */
  readonly showsReasoning: boolean
}

/** A prompt that ends inside its last message. */
export type ContinuedPrompt = { readonly text: string; readonly startsInReasoning: boolean }

/** Noncharacters, which stand for no text: one of them marks the end of the text in the rendered prompt. */
const marks = ['\ufffe', '\uffff']

/**
 * Renders a conversation so that it ends exactly where the last message's text ends, with no marker that ends its turn, as
 * `continue_final_message` of `transformers` does. Where the template trims texts, the end is trimmed too. Throws
 * `invalid-request` when the last message cannot be continued.
 */
export function continueLastMessage(messages: readonly Turn[], options: ContinueOptions): ContinuedPrompt {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') throw refusal('the last message is not an assistant message, so it cannot be continued')
  if (last.toolCalls.length > 0) throw refusal('the last message holds tool calls, so its text cannot be continued')
  const text = joinText(last.content)
  if (last.reasoning !== undefined && last.reasoning !== '') {
    return continueReasoning({ reasoning: last.reasoning, text }, messages.slice(0, -1), options)
  }
  if (text === '') throw refusal('the last message has no text to continue')
  return { text: cutAtEnd(messages, { last, text, render: options.render }), startsInReasoning: false }
}

type Spoken = { readonly reasoning: string; readonly text: string }

/** Templates drop reasoning, or show it only in some places: it is put after the generation prompt as the model writes it. */
function continueReasoning({ reasoning, text }: Spoken, before: readonly Turn[], options: ContinueOptions): ContinuedPrompt {
  const { tags, showsReasoning, render } = options
  const start = render(before, { generationPrompt: true })
  if (tags === undefined) {
    if (text === '') throw refusal('the last message has only reasoning, which this model does not have')
    return { text: start + text, startsInReasoning: false }
  }
  const open = showsReasoning ? tags.open : tags.open.trim()
  const close = showsReasoning ? tags.close : tags.close.trim()
  const opened = withoutReasoning(start, tags) + open + reasoning
  return text === ''
    ? { text: opened, startsInReasoning: true }
    : { text: `${opened}${close}${answerStart(tags)}${text}`, startsInReasoning: false }
}

/** The generation prompt without the block of reasoning that it opens, or opens and closes. */
function withoutReasoning(prompt: string, { open, close }: Tags): string {
  const end = prompt.trimEnd()
  const inner = end.endsWith(close.trim()) ? end.slice(0, -close.trim().length).trimEnd() : end
  return inner.endsWith(open.trim()) ? inner.slice(0, -open.trim().length) : prompt
}

/** Harmony has a channel for each kind of text: the answer begins with a header of its own. */
function answerStart({ open }: Tags): string {
  return open.startsWith('<|channel|>analysis') ? '<|start|>assistant<|channel|>final<|message|>' : ''
}

type CutOptions = { readonly last: Turn; readonly text: string; readonly render: ContinueOptions['render'] }

function cutAtEnd(messages: readonly Turn[], { last, text, render }: CutOptions): string {
  const mark = marks.find((candidate) => !text.includes(candidate))
  if (mark === undefined) throw refusal('the last message holds the Unicode noncharacters U+FFFE and U+FFFF')
  const marked: Turn = { ...last, content: [{ type: 'text', text: text + mark }] }
  const whole = render([...messages.slice(0, -1), marked], { generationPrompt: false })
  const place = whole.lastIndexOf(mark)
  if (place === -1) throw refusal("the model's chat template does not show the last message, so it cannot be continued")
  const cut = whole.slice(0, place)
  // The mark protects white space in front of it from a template that trims: what it does without the mark counts.
  const trims = !render(messages, { generationPrompt: false }).startsWith(cut)
  return trims ? cut.trimEnd() : cut
}

function refusal(message: string): AppError {
  return new AppError('invalid-request', message, { at: ['prompt', 'messages'] })
}

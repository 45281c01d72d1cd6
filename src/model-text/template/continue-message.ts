import { AppError } from '../../contract/errors.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import { asForeign, plainText } from '../../jinja/values/foreign-text.ts'
import { joinText } from './template-messages.ts'
import type { TemplateTurn } from './turn.ts'

type Tags = NonNullable<OutputFormat['reasoning']>
type Assistant = Extract<TemplateTurn, { role: 'assistant' }>

type ContinueOptions = {
  /** Renders a conversation; `generationPrompt` opens the assistant's next turn at its end. */
  readonly render: (messages: readonly TemplateTurn[], options: { readonly generationPrompt: boolean }) => string
  /** The tags around the model's reasoning; undefined for a model without reasoning. */
  readonly tags: Tags | undefined
  /** The template prints the reasoning of earlier turns, so the white space in `tags` comes from the template. */
  readonly showsReasoning: boolean
}

/** A prompt that ends inside its last message. */
export type ContinuedPrompt = { readonly text: string; readonly startsInReasoning: boolean }

/** Unicode noncharacters, which no text contains: they mark the ends of texts in the rendered prompt. */
const sentinels = ['\ufffe', '\uffff', '\ufdd0', '\ufdd1']

/**
 * Renders a conversation up to the end of the last message's text, or of its reasoning if it has no text, without the end of the turn. If
 * the template trims texts, the end of a text without reasoning is trimmed, as `continue_final_message` of `transformers` does; with
 * reasoning it stays, as in llama.cpp. Throws `invalid-request` if the last message cannot be continued.
 */
export function continueLastMessage(messages: readonly TemplateTurn[], options: ContinueOptions): ContinuedPrompt {
  const given = messages.at(-1)
  if (given?.role !== 'assistant') throw refusal('the last message is not an assistant message, so it cannot be continued')
  if (given.toolCalls.length > 0) throw refusal('the last message contains tool calls, so its text cannot be continued')
  const last = readOpenReasoning(given, options.tags)
  const before = messages.slice(0, -1)
  const text = joinText(last.content)
  const { reasoning = '', ...unreasoned } = last
  if (reasoning === '') {
    if (text === '') throw refusal('the last message has no text to continue')
    const end = trimmedEnd(before, unreasoned, options)
    return { text: end, startsInReasoning: endsInside(plainText(text), options.tags) }
  }
  const shown = showsReasoning(before, last, options) ? renderToEnd(before, last, options) : undefined
  if (shown !== undefined) return { text: shown, startsInReasoning: text === '' }
  return writeReasoning(before, last, options)
}

/** A text that opens reasoning without closing it is reasoning. */
function readOpenReasoning(last: Assistant, tags: Tags | undefined): Assistant {
  const text = plainText(joinText(last.content)).trimStart()
  const open = tags?.open.trim()
  if (open === undefined || !text.startsWith(open) || !endsInside(text, tags)) return last
  if (last.reasoning !== undefined && last.reasoning !== '') return last
  const thought = text.slice(open.length).replace(/^\n/, '')
  return thought === '' ? last : { ...last, reasoning: asForeign(thought), content: [] }
}

/** Whether a text ends inside reasoning. */
export function endsInside(text: string, tags: Tags | undefined): boolean {
  return tags !== undefined && text.lastIndexOf(tags.open.trim()) > text.lastIndexOf(tags.close.trim())
}

/** Whether the template prints the reasoning of this last message, in front of its text. */
function showsReasoning(before: readonly TemplateTurn[], last: Assistant, { render }: ContinueOptions): boolean {
  const text = joinText(last.content)
  const [thoughtEnd, textEnd] = freeSentinels(last)
  const reasoned = { ...last, reasoning: `${last.reasoning}${thoughtEnd}` }
  const traced = text === '' ? reasoned : ended(reasoned, textEnd)
  const rendered = attempt(() => render([...before, traced], { generationPrompt: false })) ?? ''
  const [thought, answer] = [rendered.lastIndexOf(thoughtEnd), rendered.lastIndexOf(textEnd)]
  return thought !== -1 && (text === '' || thought < answer)
}

/** Undefined if the template refuses a message with only reasoning. */
function attempt(render: () => string): string | undefined {
  try {
    return render()
  } catch (error) {
    if (error instanceof AppError && error.code === 'template-failed') return undefined
    throw error
  }
}

/** Two sentinels that the message does not contain. */
function freeSentinels(last: Assistant): readonly [string, string] {
  const all = `${joinText(last.content)}${last.reasoning ?? ''}`
  const [first, second] = sentinels.filter((candidate) => !all.includes(candidate))
  if (first !== undefined && second !== undefined) return [first, second]
  throw refusal('the last message contains the Unicode noncharacters U+FFFE, U+FFFF, U+FDD0 and U+FDD1; leave out at least two')
}

/** The message with a sentinel after its text, or after its reasoning if it has no text. */
function ended(last: Assistant, sentinel: string): Assistant {
  const text = joinText(last.content)
  if (text === '') return { ...last, reasoning: `${last.reasoning}${sentinel}` }
  return { ...last, content: [{ type: 'text', text: `${text}${sentinel}` }] }
}

/** The prompt up to the end of the message, with the white space at its end; undefined if the template does not print it. */
function renderToEnd(before: readonly TemplateTurn[], last: Assistant, { render }: ContinueOptions): string | undefined {
  const [sentinel] = freeSentinels(last)
  const rendered = render([...before, ended(last, sentinel)], { generationPrompt: false })
  const end = rendered.lastIndexOf(sentinel)
  return end === -1 ? undefined : rendered.slice(0, end)
}

/** The prompt up to the end of the message, trimmed if the template trims. Throws if it does not print the message. */
function trimmedEnd(before: readonly TemplateTurn[], last: Assistant, options: ContinueOptions): string {
  const prompt = renderToEnd(before, last, options)
  if (prompt === undefined) throw refusal("the model's chat template does not show the last message, so it cannot be continued")
  // The sentinel protects the white space before it from a template that trims; a render without it shows the trimming.
  const trims = !options.render([...before, last], { generationPrompt: false }).startsWith(prompt)
  return trims ? prompt.trimEnd() : prompt
}

/** For templates that drop the reasoning of earlier turns: it follows the generation prompt, as the model writes it. */
function writeReasoning(before: readonly TemplateTurn[], last: Assistant, options: ContinueOptions): ContinuedPrompt {
  const { tags, showsReasoning: showsTags, render } = options
  const { reasoning = '', ...unreasoned } = last
  const text = joinText(last.content)
  const start = render(before, { generationPrompt: true })
  if (tags === undefined) {
    if (text === '') throw refusal('the last message has only reasoning, which this model does not support')
    return { text: renderToEnd(before, unreasoned, options) ?? start + text, startsInReasoning: false }
  }
  const bare = dropReasoningBlock(start, tags)
  const own = renderToEnd(before, text === '' ? { ...unreasoned, content: [{ type: 'text', text: '.' }] } : unreasoned, options)
  // The template opens reasoning in earlier turns, too, although it does not print theirs.
  const isOpen = start.trimEnd().endsWith(tags.open.trim()) && own?.startsWith(start) === true
  const opened = (isOpen ? start : bare + (showsTags ? tags.open : tags.open.trim())) + reasoning
  if (text === '') return { text: opened, startsInReasoning: true }
  const close = showsTags ? tags.close : tags.close.trim()
  const header = own === undefined ? '' : answerStart(own, { bare, text, tags })
  return { text: `${opened}${close}${header}${text}`, startsInReasoning: false }
}

/** The generation prompt without a reasoning block at its end, open or closed. */
function dropReasoningBlock(prompt: string, { open, close }: Tags): string {
  const end = prompt.trimEnd()
  const inner = end.endsWith(close.trim()) ? end.slice(0, -close.trim().length).trimEnd() : end
  return inner.endsWith(open.trim()) ? inner.slice(0, -open.trim().length) : prompt
}

type AnswerOptions = { readonly bare: string; readonly text: string; readonly tags: Tags }

/** The template's text between the start of the turn and its content, such as the header of Harmony's channel for answers. */
function answerStart(own: string, { bare, text, tags }: AnswerOptions): string {
  if (tags.open.startsWith('<|channel|>analysis')) return '<|start|>assistant<|channel|>final<|message|>'
  if (!own.startsWith(bare) || !own.endsWith(text)) return ''
  const header = own.slice(bare.length, own.length - text.length)
  return header.includes(tags.open.trim()) || header.includes(tags.close.trim()) ? '' : header.trim()
}

function refusal(message: string): AppError {
  return new AppError('invalid-request', message, { at: ['prompt', 'messages'] })
}

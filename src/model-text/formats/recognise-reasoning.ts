import type { OutputFormat } from '../../contract/output-format.ts'

type ReasoningDelimiters = NonNullable<OutputFormat['reasoning']>

/** Texts that identify a template, and its tags around reasoning; the first that occurs applies. */
const known: readonly { readonly marker: string; readonly reasoning: ReasoningDelimiters }[] = [
  { marker: '<|content_thinking|>', reasoning: { open: '<|content_thinking|>', close: '<|end_message|>' } },
  { marker: '<longcat_think>', reasoning: { open: '<longcat_think>', close: '</longcat_think>' } },
  { marker: '<seed:think>', reasoning: { open: '<seed:think>', close: '</seed:think>\n' } },
  { marker: '<mm:think>', reasoning: { open: '<mm:think>', close: '</mm:think>' } },
  { marker: '[THINK]', reasoning: { open: '[THINK]', close: '[/THINK]' } },
  { marker: '<|START_THINKING|>', reasoning: { open: '<|START_THINKING|>', close: '<|END_THINKING|>' } },
  { marker: '<|channel>thought', reasoning: { open: '<|channel>thought\n', close: '<channel|>' } },
  { marker: '<|channel|>analysis', reasoning: { open: '<|channel|>analysis<|message|>', close: '<|end|>' } },
  { marker: 'to=self', reasoning: { open: ' to=self<|message|>', close: '<|eom|>' } },
  { marker: "open_tag('think')", reasoning: { open: '<|open|>think<|sep|>', close: '<|close|>think<|sep|>' } },
  { marker: '<|inner_prefix|>', reasoning: { open: '<|inner_prefix|>', close: '<|inner_suffix|>' } },
  { marker: '<|think|>', reasoning: { open: '<|think|>', close: '<|end|>' } },
  { marker: '◁think▷', reasoning: { open: '◁think▷', close: '◁/think▷' } },
  {
    marker: '[BEGIN FINAL RESPONSE]',
    reasoning: { open: 'Here are my reasoning steps:\n', close: '\n[BEGIN FINAL RESPONSE]\n' },
  },
  { marker: 'Here is my thought process:', reasoning: { open: 'Here is my thought process:', close: 'Here is my response:' } },
  { marker: '<think:opensource>', reasoning: { open: '<think:opensource>', close: '</think:opensource>' } },
  { marker: "':opensource'", reasoning: { open: '<think:opensource>', close: '</think:opensource>' } },
  { marker: '<think{}>', reasoning: { open: '<think>', close: '</think>' } },
]

/**
 * The tags that a chat template writes around reasoning, with their white space; undefined without any. White space at the end of `close`
 * means that white space after the model's closing tag is not part of the answer.
 */
export function recogniseReasoning(template: string): ReasoningDelimiters | undefined {
  const found = known.find(({ marker }) => template.includes(marker))
  if (found !== undefined) return found.reasoning
  if (!template.includes('</think>')) return undefined
  // The source of a template may contain a line break literally, or escaped in a string.
  const writes = (text: string) => template.includes(text) || template.includes(text.replaceAll('\n', '\\n'))
  const open = writes('<think>\n') ? '<think>\n' : '<think>'
  // Hunyuan A13B puts tags around the answer as well.
  if (template.includes('<answer>')) return { open, close: '\n</think>\n<answer>\n' }
  if (writes('</think>\n\n')) return { open, close: '\n</think>\n\n' }
  if (writes('</think>\n')) return { open, close: '\n</think>\n' }
  // It trims the answers of earlier turns, or writes the white space itself.
  const trims = /<\/think>['"]\)\[-?\d\][^%}]{0,30}(?:strip|trim)|think_end_token ~ '\\n/.test(template)
  return { open, close: trims ? '</think>\n\n' : '</think>' }
}

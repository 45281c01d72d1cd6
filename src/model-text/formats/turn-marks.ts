import { type EndMark, EndMarks } from '../scan/end-marks.ts'

/** Special tokens that end a turn. A server that does not know them leaves them in the text. */
export const turnEnds: readonly string[] = [
  '<|eot_id|>',
  '<|eom_id|>',
  '<|im_end|>',
  '<|end_of_text|>',
  '<|endoftext|>',
  '<|eot|>',
  '<|eom|>',
  '<|end|>',
  '<|return|>',
  '<end_of_turn>',
  '<turn|>',
  '<|END_OF_TURN_TOKEN|>',
  '<|end_of_msg|>',
  '<|end_of_sentence|>',
  '<｜end▁of▁sentence｜>',
  '<|eos|>',
  '[e~[',
]

/** The header of the model's own turn, which a prompt ends with and a model may repeat. */
export const turnHeaders: readonly string[] = [
  '<|start_header_id|>assistant<|end_header_id|>',
  '<|header_start|>assistant<|header_end|>',
  '<|im_start|>assistant',
  '<|start_of_role|>assistant<|end_of_role|>',
  '<start_of_turn>model',
  '<|turn>model',
]

/** The end marks of arguments: those of a format, and of every turn. */
export function endMarks(own: readonly EndMark[]): EndMarks {
  const inOwn = own.map(({ tag, before }) => ({ tag, before: [...before, ...turnEnds] }))
  return new EndMarks([...inOwn, ...turnEnds.map((tag) => ({ tag, before: turnEnds }))])
}

/** The end marks of formats without any of their own. */
export const turnEndMarks = endMarks([])

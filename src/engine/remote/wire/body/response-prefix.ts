import { AppError } from '../../../../contract/errors.ts'
import { field } from '../../../../contract/field.ts'
import type { Message, Prompt } from '../../../../contract/request.ts'

/**
 * Turns a beginning of the answer that is not the caller's message into the message to continue. Throws `unsupported-field` if there is
 * such a message already.
 */
export function prefixMessages({ responsePrefix, start, messages }: Extract<Prompt, { type: 'chat' }>): readonly Message[] {
  if (responsePrefix === '') return []
  if (start === 'last-message') {
    const last = messages.length - 1
    const message = `${field('prompt', 'responsePrefix')} cannot be combined with a message that is continued, on this model: put it into that message`
    throw new AppError('unsupported-field', message, { at: ['prompt', 'messages', last] })
  }
  return [{ role: 'assistant', parts: [{ type: 'text', text: responsePrefix }] }]
}

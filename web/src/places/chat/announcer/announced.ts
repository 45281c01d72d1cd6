import { chatTexts } from '../../../texts/chat.ts'
import type { Message } from '../conversation.ts'

const texts = chatTexts.announced

/** How an answer has ended, for who does not see it. */
export function announcedEnd({ state = 'done', finish, problem = '' }: Message): string {
  if (state === 'failed') return texts.failed(problem)
  if (state === 'done' && finish === 'length') return texts.length
  if (state === 'done' && finish === 'tool_calls') return texts.calls
  return texts[state]
}

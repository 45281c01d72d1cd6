import type { Group } from '../../row.ts'
import { messages } from './unsloth-messages.ts'
import { responseReplies, responses } from './unsloth-responses.ts'

/** Unsloth Studio's Responses and Messages. */
export const unslothProtocols: readonly Group[] = [
  { title: 'Responses', rows: responses },
  { title: 'replies of Responses', rows: responseReplies },
  { title: 'Messages', rows: messages },
]

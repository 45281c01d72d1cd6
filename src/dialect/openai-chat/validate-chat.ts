import { plainCommonFields } from '../openai/plain-fields.ts'
import { createFieldwise } from '../wire/fieldwise.ts'
import { arePlainMessages } from './plain-messages.ts'
import { chatRequestSchema } from './schema.ts'

/** Throws `invalid-request` for a body that is not a `WireRequest`. */
export const validateChat = createFieldwise(chatRequestSchema, { messages: arePlainMessages, ...plainCommonFields })

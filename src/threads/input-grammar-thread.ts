import { inputSchemaOf } from './input-grammar.ts'
import { serveRequests } from './thread-reply.ts'

serveRequests(inputSchemaOf)

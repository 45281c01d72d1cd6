import { serveRequests } from '../../../threads/thread-reply.ts'
import { compileGrammar, type GrammarRequest } from './compile-grammar.ts'

serveRequests((request: GrammarRequest) => compileGrammar(request))

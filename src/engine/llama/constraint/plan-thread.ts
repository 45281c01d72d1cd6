import { serveRequests } from '../../../threads/thread-reply.ts'
import type { AnswerRequest } from '../../constraint/answer-grammar.ts'
import { compileGrammar } from './compile-grammar.ts'

serveRequests((request: AnswerRequest) => compileGrammar(request))

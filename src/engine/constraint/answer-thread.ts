import { serveRequests } from '../../threads/thread-reply.ts'
import { type AnswerRequest, answerGrammar } from './answer-grammar.ts'

serveRequests((request: AnswerRequest) => answerGrammar(request))

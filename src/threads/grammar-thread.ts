import { compileOutput, type GrammarRequest } from '../grammar/compile-output.ts'
import { compileForRequest } from './grammar-failure.ts'
import { serveRequests } from './thread-reply.ts'

serveRequests((request: GrammarRequest) => compileForRequest(() => compileOutput(request)))

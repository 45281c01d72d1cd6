import { setFlagsFromString } from 'node:v8'

/**
 * Keeps V8 from allocating objects of requests among its old ones, where each keeps all that it refers to until the next full collection:
 * a process that answers many requests at once makes it believe that they live long (docs/decisions/0016).
 */
export function keepRequestsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

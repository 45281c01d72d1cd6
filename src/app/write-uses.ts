import type { Logger } from 'pino'
import { messageOf } from '../contract/errors.ts'

const writeEveryMs = 60_000

/** Writes when keys were used, once a minute and at the end. A failure is logged: it must not stop a server. */
export function startWritingUses(writeUses: () => Promise<void>, log: Logger): { stop(): Promise<void> } {
  let writing = Promise.resolve()
  const write = () => {
    writing = writing
      .then(writeUses)
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'the last use of API keys could not be written'))
  }
  const timer = setInterval(write, writeEveryMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      write()
      await writing
    },
  }
}

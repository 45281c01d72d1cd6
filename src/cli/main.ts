import { program } from './commands.ts'
import { reportFailure } from './terminal/console.ts'

try {
  await program.parseAsync()
} catch (error) {
  reportFailure(error)
  // A signal sets a code of its own.
  process.exitCode ??= 1
}

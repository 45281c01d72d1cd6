import { program } from './commands.ts'
import { reportFailure } from './terminal/console.ts'

try {
  await program.parseAsync()
} catch (error) {
  reportFailure(error)
  process.exitCode = 1
}

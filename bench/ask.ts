import type { ChildProcess } from 'node:child_process'

/** The next message of a child, after it got this one. Rejects with the error that it sends, or when it ends. */
export function ask(child: ChildProcess, message?: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`the process ended with code ${code}`))
    child.once('exit', onExit)
    child.once('message', (answer: { readonly error?: string }) => {
      child.off('exit', onExit)
      if (answer.error === undefined) resolve(answer)
      else reject(new Error(answer.error))
    })
    if (message !== undefined) child.send(message)
  })
}

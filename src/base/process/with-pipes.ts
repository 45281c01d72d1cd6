/** A child process of Node.js, whose types promise streams. */
type Child = { readonly spawnfile: string; readonly stdout?: unknown; once(event: 'error', listener: () => void): unknown }

/**
 * A child that was just spawned with pipes. Throws if it has none: Node.js makes such a child where this process may open no more files, and
 * reports the error later, to nobody.
 */
export function withPipes<C extends Child>(child: C): C {
  if (child.stdout !== undefined) return child
  // An error without a listener ends this process.
  child.once('error', () => undefined)
  throw new Error(`'${child.spawnfile}' could not be started: this process has too many open files; raise its limit (ulimit -n)`)
}

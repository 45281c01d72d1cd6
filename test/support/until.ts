/** Polls until a condition holds; for states without an event. A failure names the condition. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`not true after ${timeoutMs} ms: ${described(holds)}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A condition in the words of its test, without what vitest makes of imported names. */
function described(holds: () => unknown): string {
  return String(holds)
    .replace(/^(async )?\(\) => /, '')
    .replace(/\(0, ?(__vi_import_\d+__\.\w+)\)/g, '$1')
    .replace(/__vi_import_\d+__\./g, '')
}

/** Offers a file for download. */
export function download(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  // Some browsers read it only later.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

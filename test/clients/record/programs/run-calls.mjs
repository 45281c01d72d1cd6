// run-calls.mjs URL PROGRAM: announces each call of a program to the recorder at CALL_MARKS, and makes it.
const [url, program] = process.argv.slice(2)
const { calls } = await import(`./${program}.mjs`)

for (const [name, call] of Object.entries(calls(url))) {
  await fetch(process.env.CALL_MARKS + encodeURIComponent(name))
  try {
    await call()
  } catch (error) {
    console.log(JSON.stringify({ name, failure: error.stack }))
  }
}

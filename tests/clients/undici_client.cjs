// fetch on a Node whose built-in one does not read the proxy's environment: undici's own agent does.
const { EnvHttpProxyAgent, fetch } = require("undici");

async function main(url) {
  const answer = await fetch(url, { dispatcher: new EnvHttpProxyAgent() });
  console.log(await answer.text());
  console.log(answer.status);
}

main(process.argv[2]);

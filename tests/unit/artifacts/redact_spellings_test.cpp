#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "artifacts/redact.h"

/// How secrets are spelled in the world, and what only looks like one.
namespace profgate::artifacts {
namespace {

using arguments = std::vector<std::string>;

std::string joined(const arguments& argv) {
  std::string all;
  for (const std::string& argument : argv) all += argument + '\n';
  return all;
}

/// Each holds "Zq7wXv92Lk", or it in capitals.
const std::vector<arguments> secrets{
    {"--token", "Zq7wXv92Lk"},
    {"--api-key=Zq7wXv92Lk"},
    {"--apikey", "Zq7wXv92Lk"},
    {"--password", "Zq7wXv92Lk"},
    {"--password=Zq7wXv92Lk"},
    {"--pass=Zq7wXv92Lk"},
    {"--pass", "Zq7wXv92Lk"},
    {"--pwd=Zq7wXv92Lk"},
    {"--auth", "Zq7wXv92Lk"},
    {"--auth=me:Zq7wXv92Lk"},
    {"--creds", "Zq7wXv92Lk"},
    {"--creds=me/Zq7wXv92Lk"},
    {"--db-password", "Zq7wXv92Lk"},
    {"--client-secret=Zq7wXv92Lk"},
    {"tool", "-p", "Zq7wXv92Lk"},
    {"mysql", "-uroot", "-pZq7wXv92Lk"},
    {"redis-cli", "-a", "Zq7wXv92Lk"},
    {"curl", "-u", "me:Zq7wXv92Lk", "https://h/"},
    {"curl", "--user", "me:Zq7wXv92Lk"},
    {"--cookie", "session=Zq7wXv92Lk"},
    {"curl", "-H", "X-Api-Key: Zq7wXv92Lk"},
    {"curl", "-H", "Authorization: Bearer Zq7wXv92Lk"},
    {"curl", "-H", "authorization: token Zq7wXv92Lk"},
    {"curl", "-H", "Proxy-Authorization: Basic Zq7wXv92Lk=="},
    {"curl", "-H", "Cookie: a=1; session=Zq7wXv92Lk"},
    {"curl", "-H", "apikey:Zq7wXv92Lk"},
    {"-H", "Private-Token: Zq7wXv92Lk"},
    {"-H", "X-Auth-Token: Zq7wXv92Lk"},
    {"Server=h;User Id=me;Password=Zq7wXv92Lk;Database=d"},
    {"Server=h;Pwd=Zq7wXv92Lk;"},
    {"Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=Zq7wXv92Lk+/=;"},
    {"DefaultEndpointsProtocol=https;AccountName=n;AccountKey=Zq7wXv92Lkabc/+==;EndpointSuffix=x"},
    {"host=h user=me password=Zq7wXv92Lk dbname=d"},
    {"postgresql://me:Zq7wXv92Lk@h:5432/d"},
    {"redis://:Zq7wXv92Lk@h:6379/0"},
    {"mongodb+srv://me:Zq7wXv92Lk@c.h/x?retry=true"},
    {"amqp://me:Zq7wXv92Lk@h/v"},
    {"https://Zq7wXv92Lk@github.com/x/y.git"},
    {"https://b.blob.core.windows.net/c/f?sv=2022&sig=Zq7wXv92Lk%3D&se=1"},
    {"https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4&X-Amz-Signature=Zq7wXv92Lk"},
    {"https://b.s3.amazonaws.com/k?X-Amz-Security-Token=Zq7wXv92Lk&x=1"},
    {"https://storage.googleapis.com/b/o?X-Goog-Signature=Zq7wXv92Lk"},
    {"https://h/p?access_token=Zq7wXv92Lk&n=1"},
    {"https://h/p?key=Zq7wXv92Lk"},
    {"HF_TOKEN=Zq7wXv92Lk"},
    {"DB_PW=Zq7wXv92Lk"},
    {"DB_PASS=Zq7wXv92Lk"},
    {"MYSQL_PWD=Zq7wXv92Lk"},
    {"PGPASSWORD=Zq7wXv92Lk"},
    {"AWS_SECRET_ACCESS_KEY=Zq7wXv92Lk/Zq7wXv92Lk"},
    {"SSHPASS=Zq7wXv92Lk"},
    {"OPENAI_API_KEY_2=Zq7wXv92Lk"},
    {"sh", "-c", "WANDB_API_KEY=Zq7wXv92Lk python run.py --n 3"},
    {"sh", "-c", "login --password Zq7wXv92Lk --host h"},
    {"{\"password\": \"Zq7wXv92Lk\", \"n\": 1}"},
    {"--json={\"clientSecret\":\"Zq7wXv92Lk\"}"},
    {"{\\\"api_key\\\": \\\"Zq7wXv92Lk\\\"}"},
    {"auth.token=Zq7wXv92Lk"},
    {"password: 'Zq7wXv92Lk x'"},
    {"x=hf_Zq7wXv92LkZq7wXv92LkZq7wXv92Lk"},
    {"log in as ghp_Zq7wXv92LkZq7wXv92LkZq7wXv92Lk"},
    {"sk-proj-Zq7wXv92LkZq7wXv92LkZq7wXv92Lk"},
    {"glpat-Zq7wXv92LkZq7wXv92Lk"},
    {"nvapi-Zq7wXv92LkZq7wXv92LkZq7wXv92Lk"},
    {"AKIAZQ7WXV92LKZQ7WXV"},
    {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIZq7wXv92Lk.Zq7wXv92LkZq7wXv92LkZq7wXv92Lk"},
    {"https://hooks.slack.com/services/T0/B0/Zq7wXv92Lk"},
    {"-----BEGIN RSA PRIVATE KEY-----\nZq7wXv92Lk\n-----END RSA PRIVATE KEY-----"},
    {"SG.Zq7wXv92LkZq7wXv92Lk.Zq7wXv92LkZq7wXv92LkZq7wXv92Lk"},
    {"AIzaZq7wXv92LkZq7wXv92LkZq7wXv92Lkabcde"}};

const std::vector<arguments> harmless{{"--prompt-tokens", "32"},
                                      {"--max-tokens=16"},
                                      {"--max_new_tokens=128"},
                                      {"--tokens", "8,16,32"},
                                      {"--tokenizer", "conf/tok.json"},
                                      {"--tokenizer-mode=slow"},
                                      {"num_key_value_heads=8"},
                                      {"--kv-heads", "8"},
                                      {"--eos-token", "</s>"},
                                      {"--eos-token=im_end"},
                                      {"--pad_token=pad"},
                                      {"--token-file", "/run/secrets/hf"},
                                      {"--token-env=HF_TOKEN"},
                                      {"--token=$HF_TOKEN"},
                                      {"--token=${HF_TOKEN}"},
                                      {"--password=<password>"},
                                      {"--password-file=pw.txt"},
                                      {"--key-file=server.key"},
                                      {"--ssh-key", "~/.ssh/id_ed25519"},
                                      {"--ssl-key=/etc/ssl/key.pem"},
                                      {"--sort-key=duration"},
                                      {"--cache-key", "linux-x64"},
                                      {"--public-key=abcdefghijkl"},
                                      {"--keyboard=us"},
                                      {"--monkey=banana"},
                                      {"--hotkey=ctrl"},
                                      {"--keyframe-interval=30"},
                                      {"--author", "Ann Lee"},
                                      {"--authors=ann,lee"},
                                      {"--authority=h"},
                                      {"--auth=none"},
                                      {"--auth-mode=basic"},
                                      {"--auth=basic"},
                                      {"--auth-url=https://h/login"},
                                      {"--pass-through=yes"},
                                      {"--passes", "3"},
                                      {"--pass=2"},
                                      {"--num-passes=12"},
                                      {"--bypass=cache"},
                                      {"--compass=north"},
                                      {"--signal=TERM"},
                                      {"--sig=TERM"},
                                      {"--design=flat"},
                                      {"--signature-algorithm=rsa"},
                                      {"PWD=/work"},
                                      {"PWD=/home/ada/run"},
                                      {"OLDPWD=/"},
                                      {"mkdir", "-p", "build"},
                                      {"ssh", "-p", "2222", "h"},
                                      {"docker", "run", "-p", "8080:80", "-u", "1000:1000"},
                                      {"serve", "-p", "8080"},
                                      {"tool", "-p", "./model"},
                                      {"tool", "-p", "/data/model.bin"},
                                      {"https://h/p?n=1&m=2"},
                                      {"https://h:8080/a@b"},
                                      {"https://h/p?token_count=12"},
                                      {"std::map<key::type>"},
                                      {"LD_LIBRARY_PATH=/opt/key:/usr/lib"},
                                      {"task-sk-1"},
                                      {"hf_transformers_cache_dir_v2"},
                                      {"sk-learn-estimators-v2"},
                                      {"hf_short"},
                                      {"eyJustAWord"},
                                      {"Basic operators and more"},
                                      {"bearer bonds"},
                                      {"x509: certificate"},
                                      {"batch=8;stage=prefill;dtype=bf16"},
                                      {"void kernel<key=3>(int*)"},
                                      {"model.weights=pass_through"},
                                      {"--layers=0-31"}};

TEST(redact_spellings, hides_each_secret) {
  EXPECT_GE(secrets.size(), 60U);
  for (const arguments& argv : secrets) {
    const std::string shown = joined(redact_argv(argv));
    EXPECT_NE(shown, joined(argv));
    for (const char* secret : {"Zq7wXv92Lk", "ZQ7WXV92LK"}) {
      EXPECT_EQ(shown.find(secret), std::string::npos) << joined(argv) << "became\n" << shown;
    }
  }
}

TEST(redact_spellings, keeps_each_harmless_one) {
  EXPECT_GE(harmless.size(), 60U);
  for (const arguments& argv : harmless) EXPECT_EQ(redact_argv(argv), argv);
}

TEST(redact_spellings, redacts_twice_as_once) {
  for (const arguments& argv : secrets) {
    const arguments once = redact_argv(argv);
    EXPECT_EQ(redact_argv(once), once);
  }
}

TEST(redact_text, keeps_what_stands_around_a_secret) {
  EXPECT_EQ(redact_text("Server=h;Password=a b;Database=d"), "Server=h;Password=[redacted];Database=d");
  EXPECT_EQ(redact_text(R"({"password": "a\"b", "n": 1})"), R"({"password": "[redacted]", "n": 1})");
  EXPECT_EQ(redact_text("PASSWORD=x ./run --n 3"), "PASSWORD=[redacted] ./run --n 3");
  EXPECT_EQ(redact_text("https://h/f?sv=1&sig=abc%3D&se=2"), "https://h/f?sv=1&sig=[redacted]&se=2");
}

}  // namespace
}  // namespace profgate::artifacts
